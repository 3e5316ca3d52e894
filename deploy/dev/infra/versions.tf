# No lock file is committed: Terraform and OpenTofu name the same provider by different addresses. scripts/dev keeps the
# one that the first `init` writes with the cluster's other files, so that a cluster keeps its provider.
terraform {
  required_version = ">= 1.10"

  required_providers {
    hcloud = {
      source  = "hetznercloud/hcloud"
      version = "1.68.0"
    }
  }
}

# Token and endpoint come from HCLOUD_TOKEN and HCLOUD_ENDPOINT.
provider "hcloud" {}
