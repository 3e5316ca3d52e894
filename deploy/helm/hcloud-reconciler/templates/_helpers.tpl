{{/* The name of every object: nameOverride or the chart's, cut to what a label may have. */}}
{{- define "hcloud-reconciler.name" -}}
{{- .Values.nameOverride | default .Chart.Name | trunc 63 | trimSuffix "-" }}
{{- end }}

{{/*
The name that `selectorLabels` in a values file of HCCM asks for. It is this chart's: a selector is immutable, and has to
be the same whether the values say so or not. Where HCCM's chart stands beside this one, it means the same to both.
*/}}
{{- define "hcloud-cloud-controller-manager.name" -}}
{{- include "hcloud-reconciler.name" . }}
{{- end }}

{{/* name-SUFFIX, cut before the suffix. */}}
{{- define "hcloud-reconciler.named" -}}
{{- $suffix := index . 1 }}
{{- printf "%s-%s" (include "hcloud-reconciler.name" (index . 0) | trunc (int (sub 62 (len $suffix))) | trimSuffix "-") $suffix }}
{{- end }}

{{- define "hcloud-reconciler.selectorLabels" -}}
{{- tpl (toYaml .Values.selectorLabels) . }}
{{- end }}

{{- define "hcloud-reconciler.hostNetwork" -}}
{{- if kindIs "invalid" .Values.hostNetwork }}{{ .Values.networking.enabled }}{{ else }}{{ .Values.hostNetwork }}{{ end }}
{{- end }}

{{/* What all pods tolerate, beside `additionalTolerations`. */}}
{{- define "hcloud-reconciler.tolerations" -}}
# Nodes that join wait for this very pod: it runs where nothing else may yet.
- key: node.cloudprovider.kubernetes.io/uninitialized
  value: "true"
  effect: NoSchedule
- key: CriticalAddonsOnly
  operator: Exists
- key: node-role.kubernetes.io/master
  operator: Exists
  effect: NoSchedule
- key: node-role.kubernetes.io/control-plane
  operator: Exists
  effect: NoSchedule
- key: node.kubernetes.io/not-ready
  operator: Exists
{{- if eq (include "hcloud-reconciler.hostNetwork" .) "true" }}
- key: node.kubernetes.io/network-unavailable
  operator: Exists
  effect: NoSchedule
{{- end }}
{{- end }}

{{/* The name of the port with the probes: that of metrics, which scrapers ask for, where one server has both. */}}
{{- define "hcloud-reconciler.probes" -}}
{{- if and .Values.monitoring.enabled (eq (int .Values.monitoring.port) (int .Values.health.port)) }}metrics{{ else }}health{{ end }}
{{- end }}

{{/* Where probes and metrics are served, a colon and the port left out: "" is every address of the pod. */}}
{{- define "hcloud-reconciler.bindAddress" -}}
{{- if eq .Values.bindAddress "pod" }}$(BIND_ADDRESS)
{{- else if .Values.bindAddress }}{{ contains ":" .Values.bindAddress | ternary (printf "[%s]" .Values.bindAddress) .Values.bindAddress }}
{{- else if eq (include "hcloud-reconciler.hostNetwork" .) "true" }}127.0.0.1
{{- end }}
{{- end }}

{{/*
Where metrics are served, likewise. In the Nodes' network a PodMonitor does not reach 127.0.0.1; where the Nodes are in a
private network, they are at the Node's InternalIP then, and the probes are not.
*/}}
{{- define "hcloud-reconciler.metricsAddress" -}}
{{- $address := include "hcloud-reconciler.bindAddress" . }}
{{- $isApart := ne (int .Values.monitoring.port) (int .Values.health.port) }}
{{- if and (not .Values.bindAddress) (eq $address "127.0.0.1") (include "hcloud-reconciler.isScraped" .) .Values.networking.enabled $isApart }}$(BIND_ADDRESS)
{{- else }}{{ $address }}
{{- end }}
{{- end }}

{{/* Whether a PodMonitor wants metrics of pods that stay. */}}
{{- define "hcloud-reconciler.isScraped" -}}
{{- if and .Values.monitoring.enabled .Values.monitoring.podMonitor.enabled (ne .Values.kind "CronJob") }}true{{ end }}
{{- end }}

{{/* The address that the kubelet asks for probes, if not the pod's own. */}}
{{- define "hcloud-reconciler.probeHost" -}}
{{- if not (has .Values.bindAddress (list "pod" "0.0.0.0" "::")) }}
{{- .Values.bindAddress | default (include "hcloud-reconciler.bindAddress" .) }}
{{- end }}
{{- end }}

{{/* Fails with a sentence where a values file of HCCM means something else than it says. */}}
{{- define "hcloud-reconciler.check" -}}
{{- if regexMatch "(^|/)hcloud-cloud-controller-manager([:@]|$)" .Values.image.repository }}
{{- printf "image.repository is %s, which is another controller: leave it out, or name where you have pushed the image that deploy/Dockerfile makes" .Values.image.repository | fail }}
{{- end }}
{{- if and (include "hcloud-reconciler.servesPage" .) (eq (include "hcloud-reconciler.bindAddress" .) "127.0.0.1") }}
{{- fail "page.service.enabled is set, but the page is served on 127.0.0.1 only: set bindAddress to \"pod\" where the Nodes' own addresses are not public, or page.service.enabled to false" }}
{{- end }}
{{- if and (include "hcloud-reconciler.isScraped" .) (eq (include "hcloud-reconciler.metricsAddress" .) "127.0.0.1") }}
{{- fail "monitoring.podMonitor.enabled is set, but metrics are served on 127.0.0.1 only, where no PodMonitor reaches them: set bindAddress to \"pod\" where the Nodes' own addresses are not public, or monitoring.podMonitor.enabled to false" }}
{{- end }}
{{- $env := include "hcloud-reconciler.env" . | fromYaml }}
{{- $routes := index $env "HCLOUD_NETWORK_ROUTES_ENABLED" | default (dict "value" "true") }}
{{- if and .Values.robot.enabled (index $env "HCLOUD_NETWORK") (hasKey $routes "value") (has (tpl $routes.value .) (list "1" "t" "T" "true" "TRUE" "True")) }}
{{- fail "robot.enabled is set, but routes cannot lead to Robot servers: set env.HCLOUD_NETWORK_ROUTES_ENABLED.value to \"false\"" }}
{{- end }}
{{- with .Values }}
{{- $switches := dict "networking.enabled" .networking.enabled "robot.enabled" .robot.enabled "monitoring.enabled" .monitoring.enabled "monitoring.podMonitor.enabled" .monitoring.podMonitor.enabled "rbac.create" .rbac.create }}
{{- range $name, $value := $switches }}
{{- if eq (toJson $value) (toJson "false") }}
{{- printf "%s is the text \"false\", which the chart of HCCM takes for yes: write true or false, without quotes" $name | fail }}
{{- end }}
{{- end }}
{{- end }}
{{- end }}

{{/* Whether the page is served where a Service finds it. */}}
{{- define "hcloud-reconciler.servesPage" -}}
{{- if and .Values.page.enabled .Values.page.service.enabled (ne .Values.kind "CronJob") }}true{{ end }}
{{- end }}

{{/* Names under which the page is asked for: those of its Service, and those that the values add. */}}
{{- define "hcloud-reconciler.pageHosts" -}}
{{- $hosts := .Values.page.hosts }}
{{- if include "hcloud-reconciler.servesPage" . }}
{{- $name := include "hcloud-reconciler.named" (list . "page") }}
{{- $hosts = concat (list $name (printf "%s.%s" $name .Release.Namespace) (printf "%s.%s.svc" $name .Release.Namespace)) $hosts }}
{{- end }}
{{- join "," $hosts }}
{{- end }}

{{/* Flag → value: what other values of the chart stand for, and over it `args`. */}}
{{- define "hcloud-reconciler.flags" -}}
{{- $flags := dict "policy" .Values.policy }}
{{- with .Values.interval }}{{ $_ := set $flags "interval" . }}{{ end }}
{{- if eq .Values.kind "CronJob" }}
{{- $_ := set $flags "once" "" }}
{{- else }}
{{- $_ := set $flags "log-format" .Values.logFormat }}
{{- $_ := set $flags "health-address" (printf "%s:%d" (include "hcloud-reconciler.bindAddress" .) (int .Values.health.port)) }}
{{- end }}
{{- if and .Values.page.enabled (ne .Values.kind "CronJob") }}
{{- $host := eq (include "hcloud-reconciler.servesPage" .) "true" | ternary (include "hcloud-reconciler.bindAddress" .) "127.0.0.1" }}
{{- $_ := set $flags "ui-address" (printf "%s:%d" $host (int .Values.page.port)) }}
{{- with include "hcloud-reconciler.pageHosts" . }}{{ $_ := set $flags "ui-hosts" . }}{{ end }}
{{- end }}
{{- if .Values.networking.enabled }}{{ $_ := set $flags "cluster-cidr" .Values.networking.clusterCIDR }}{{ end }}
{{- if eq .Values.policy "observe" }}{{ $_ := set $flags "leader-elect" "false" }}{{ end }}
{{- range $flag, $value := .Values.args }}
{{- $_ := set $flags $flag $value }}
{{- end }}
{{- toYaml $flags }}
{{- end }}

{{/* Whether there is a NetworkPolicy: by default where it has an effect. */}}
{{- define "hcloud-reconciler.networkPolicy" -}}
{{- if kindIs "invalid" .Values.networkPolicy.enabled }}{{ ne (include "hcloud-reconciler.hostNetwork" .) "true" }}{{ else }}{{ .Values.networkPolicy.enabled }}{{ end }}
{{- end }}

{{/* Where the Lease and the approvals are, and what the Lease is called. */}}
{{- define "hcloud-reconciler.leaseNamespace" -}}
{{- index .Values.args "leader-elect-resource-namespace" | default "kube-system" }}
{{- end }}
{{- define "hcloud-reconciler.lease" -}}
{{- index .Values.args "leader-elect-resource-name" | default "cloud-controller-manager" }}
{{- end }}

{{/* Variable → value or valueFrom: what other values of the chart stand for, and over it `env`. */}}
{{- define "hcloud-reconciler.env" -}}
{{- $env := dict }}
{{- if .Values.networking.enabled }}{{ $_ := set $env "HCLOUD_NETWORK" .Values.networking.network }}{{ end }}
{{- if .Values.robot.enabled }}{{ $_ := set $env "ROBOT_ENABLED" (dict "value" "true") }}{{ end }}
{{- if not .Values.monitoring.enabled }}{{ $_ := set $env "HCLOUD_METRICS_ENABLED" (dict "value" "false") }}{{ end }}
{{- $metrics := include "hcloud-reconciler.metricsAddress" . }}
{{- $address := printf "%s:%d" $metrics (int .Values.monitoring.port) }}
{{- if and .Values.monitoring.enabled (ne .Values.kind "CronJob") (ne $address ":8233") }}
{{- $_ := set $env "HCLOUD_METRICS_ADDRESS" (dict "value" $address) }}
{{- end }}
{{- /* Variables are in the order of their names, and this one has to come before those that refer to it. */}}
{{- if or (eq .Values.bindAddress "pod") (eq $metrics "$(BIND_ADDRESS)") }}
{{- $_ := set $env "BIND_ADDRESS" (dict "valueFrom" (dict "fieldRef" (dict "fieldPath" "status.podIP"))) }}
{{- end }}
{{- range $name, $value := .Values.env }}
{{- $_ := set $env $name $value }}
{{- end }}
{{- toYaml $env }}
{{- end }}

{{/* Whether the cluster knows this kind of the Prometheus operator's. */}}
{{- define "hcloud-reconciler.knows" -}}
{{- $root := index . 0 }}
{{- if $root.Capabilities.APIVersions.Has (printf "monitoring.coreos.com/v1/%s" (index . 1)) }}true{{ end }}
{{- end }}
