set -eu
hcloud server create --name web-1 --type cx23 --image debian-12
hcloud load-balancer create --name web --type lb11 --location fsn1
hcloud load-balancer add-target web --server web-1
hcloud server list -o noheader -o columns=name,status
