terraform {
  required_providers {
    hcloud = {
      source = "hetznercloud/hcloud"
    }
  }
}

resource "hcloud_server" "web" {
  count       = 2
  name        = "web-${count.index + 1}"
  server_type = "cx23"
  image       = "debian-12"
  location    = "fsn1"
}

resource "hcloud_load_balancer" "web" {
  name               = "web"
  load_balancer_type = "lb11"
  location           = "fsn1"
}

resource "hcloud_load_balancer_target" "web" {
  count            = length(hcloud_server.web)
  type             = "server"
  load_balancer_id = hcloud_load_balancer.web.id
  server_id        = hcloud_server.web[count.index].id
}
