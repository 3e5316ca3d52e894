variable "name" {
  description = "Name of the cluster, and the beginning of the names of all that belongs to it."
  type        = string

  validation {
    condition     = can(regex("^[a-z]([a-z0-9-]{0,28}[a-z0-9])?$", var.name))
    error_message = "A name has 1 to 30 lower-case letters, digits and dashes, and begins with a letter."
  }
}

variable "cluster_id" {
  description = "Value of the label hcloud-reconciler/dev-cluster: which checkout's cluster an object belongs to."
  type        = string
}

variable "location" {
  description = "Location of all servers."
  type        = string
}

variable "network_zone" {
  description = "Network zone of that location."
  type        = string
}

variable "server_type" {
  description = "Type of all servers."
  type        = string
}

variable "workers" {
  description = "Number of workers. A spread placement group takes ten servers, and the control plane is one of them."
  type        = number

  validation {
    condition     = var.workers >= 0 && var.workers <= 9
    error_message = "There are 0 to 9 workers."
  }
}

variable "ssh_key_id" {
  description = "ID of the SSH key at Hetzner with which the servers are reached. scripts/dev makes it."
  type        = string
}

variable "k3s_token" {
  description = "Secret with which a server joins. It is in the user data, which every pod of the cluster can read."
  type        = string
  sensitive   = true
}

variable "admin_ranges" {
  description = "From where SSH and the Kubernetes API are reached."
  type        = list(string)
}
