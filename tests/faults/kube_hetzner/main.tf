# What kube-hetzner declares of a cluster, as far as a cloud controller meets it: servers in a network, and the load
# balancer of the ingress controller, which takes all servers of the cluster for targets. The module ignores HCCM's label.

terraform {
  required_providers {
    hcloud = {
      source = "hetznercloud/hcloud"
    }
  }
}

variable "load_balancer_type" {
  type    = string
  default = "lb11"
}

variable "algorithm" {
  type    = string
  default = "round_robin"
}

variable "agents" {
  type    = number
  default = 2
}

locals {
  labels = { provisioner = "terraform", engine = "k3s", cluster = "k3s" }
}

resource "hcloud_network" "k3s" {
  name     = "k3s"
  ip_range = "10.0.0.0/8"
  labels   = local.labels
}

resource "hcloud_network_subnet" "agent" {
  network_id   = hcloud_network.k3s.id
  type         = "cloud"
  network_zone = "eu-central"
  ip_range     = "10.0.0.0/16"
}

resource "hcloud_server" "agent" {
  count       = var.agents
  name        = "k3s-agent-${count.index}"
  server_type = "cx23"
  image       = "ubuntu-24.04"
  location    = "fsn1"
  labels      = merge(local.labels, { role = "agent_node" })
}

resource "hcloud_server_network" "agent" {
  count     = var.agents
  server_id = hcloud_server.agent[count.index].id
  subnet_id = hcloud_network_subnet.agent.id
  ip        = cidrhost(hcloud_network_subnet.agent.ip_range, 101 + count.index)
}

resource "hcloud_load_balancer" "cluster" {
  name               = "k3s-traefik"
  load_balancer_type = var.load_balancer_type
  location           = "fsn1"
  labels             = local.labels

  algorithm {
    type = var.algorithm
  }

  lifecycle {
    ignore_changes = [labels["hcloud-ccm/service-uid"]]
  }
}

resource "hcloud_load_balancer_network" "cluster" {
  load_balancer_id        = hcloud_load_balancer.cluster.id
  subnet_id               = hcloud_network_subnet.agent.id
  ip                      = cidrhost(hcloud_network_subnet.agent.ip_range, 254)
  enable_public_interface = true

  lifecycle {
    ignore_changes = [ip, enable_public_interface]
  }
}

resource "hcloud_load_balancer_target" "cluster" {
  depends_on       = [hcloud_load_balancer_network.cluster]
  type             = "label_selector"
  load_balancer_id = hcloud_load_balancer.cluster.id
  label_selector   = join(",", [for key, value in local.labels : "${key}=${value}"])
  use_private_ip   = true
}
