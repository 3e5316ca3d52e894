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

{{/* The name of the port with the probes: that of metrics, which scrapers ask for, where one server has both. */}}
{{- define "hcloud-reconciler.probes" -}}
{{- and .Values.monitoring.enabled (eq (int .Values.monitoring.port) (int .Values.health.port)) | ternary "metrics" "health" }}
{{- end }}

{{/* Flag → value: what other values of the chart stand for, and over it `args`. */}}
{{- define "hcloud-reconciler.flags" -}}
{{- $flags := dict "policy" .Values.policy "log-format" .Values.logFormat }}
{{- with .Values.interval }}{{ $_ := set $flags "interval" . }}{{ end }}
{{- if eq .Values.kind "CronJob" }}
{{- $_ := set $flags "once" "" }}
{{- else }}
{{- $_ := set $flags "health-address" (printf ":%d" (int .Values.health.port)) }}
{{- end }}
{{- if .Values.networking.enabled }}{{ $_ := set $flags "cluster-cidr" .Values.networking.clusterCIDR }}{{ end }}
{{- if eq .Values.policy "observe" }}{{ $_ := set $flags "leader-elect" "false" }}{{ end }}
{{- range $flag, $value := .Values.args }}
{{- $_ := set $flags $flag $value }}
{{- end }}
{{- toYaml $flags }}
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
{{- if and .Values.monitoring.enabled (ne (int .Values.monitoring.port) 8233) }}
{{- $_ := set $env "HCLOUD_METRICS_ADDRESS" (dict "value" (printf ":%d" (int .Values.monitoring.port))) }}
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
