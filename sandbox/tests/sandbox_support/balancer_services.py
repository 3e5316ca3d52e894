"""A load balancer of the simulator with two services, for tests of services: what the API says of them, and where."""

from typing import Any

from sandbox_support.hetzner_spec import HetznerApi

ADD = "/load_balancers/3/actions/add_service"
UPDATE = "/load_balancers/3/actions/update_service"
DELETE = "/load_balancers/3/actions/delete_service"
TCP = {"protocol": "tcp", "listen_port": 81, "destination_port": 30081}
CHECK = {"protocol": "tcp", "interval": 15, "timeout": 10, "retries": 3}
HTTP = {
    "cookie_name": "HCLBSTICKY",
    "cookie_lifetime": 300,
    "timeout_idle": 50,
    "certificates": [],
    "redirect_http": False,
    "sticky_sessions": False,
}
HTTP_CHECK = {"domain": "", "path": "/", "response": "", "status_codes": ["2??", "3??"], "tls": False}
WORLD: dict[str, Any] = {
    "load_balancers": [
        {
            "id": 3,
            "name": "lb",
            "services": [
                {"protocol": "tcp", "listen_port": 5000, "destination_port": 30000, "proxyprotocol": True},
                {
                    "protocol": "https",
                    "listen_port": 443,
                    "destination_port": 30443,
                    "http": {"certificates": [4], "redirect_http": True, "cookie_name": "MINE"},
                    "health_check": {"protocol": "http", "interval": 20, "http": {"domain": "example.com"}},
                },
            ],
        }
    ],
    "certificates": [{"id": 4}, {"id": 5, "type": "managed"}],
}


def services(api: HetznerApi) -> dict[int, Any]:
    listed = api.get("/load_balancers/3")["load_balancer"]["services"]
    return {service["listen_port"]: service for service in listed}
