#!/bin/bash
python3 -c "import urllib.request as u; print(u.urlopen('http://prices:8000/pear').read().decode(), end='')" > pear.txt
