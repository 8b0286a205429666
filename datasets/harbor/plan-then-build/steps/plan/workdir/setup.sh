git init -q . && git add notes.txt && git -c user.name=a -c user.email=a@example.com commit -qm "Notes"
