run "each_server_gets_traffic" {
  assert {
    condition     = length(distinct(hcloud_load_balancer_target.web[*].server_id)) == 2
    error_message = "a server is no target of the load balancer"
  }
}
