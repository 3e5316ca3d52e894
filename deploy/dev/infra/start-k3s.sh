#!/bin/sh
# start-k3s server|agent VERSION PRIVATE_ADDRESS: waits for the private network, tells k3s its public address, starts it.
set -eu
role=$1 version=$2 private=$3

# The interface may come minutes after the first boot. Its name depends on the type of the server; its address does not.
waited_s=0
until ip -4 -o address show | grep -qF " $private/"; do
  if [ "$waited_s" -ge 300 ]; then
    echo "start-k3s: no interface has $private after 300 s: is the server attached to its network?" >&2
    exit 1
  fi
  sleep 2
  waited_s=$((waited_s + 2))
done

public=$(curl -fsS --retry 10 --retry-connrefused http://169.254.169.254/hetzner/v1/metadata/public-ipv4)
mkdir -p /etc/rancher/k3s/config.yaml.d
{
  echo "node-external-ip: $public"
  if [ "$role" = server ]; then echo "tls-san: [$public]"; fi
} > /etc/rancher/k3s/config.yaml.d/public-address.yaml

curl -fsSL --retry 10 --retry-connrefused https://get.k3s.io -o /run/install-k3s
INSTALL_K3S_VERSION=$version sh /run/install-k3s "$role"
