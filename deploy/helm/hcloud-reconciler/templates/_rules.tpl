{{/*
What each role may do: every verb that some reader or writer uses, and no other. The files under deploy/rbac say the same
for those who do not use the chart.
*/}}

{{/* Nodes, Services, the identity of the cluster, and which volumes are attached (with --out-of-service). */}}
{{- define "hcloud-reconciler.ClusterRole.observe" -}}
- apiGroups: [""]
  resources: [nodes, services]
  verbs: {{ eq .Values.kind "CronJob" | ternary "[list]" "[list, watch]" }}
- apiGroups: [""]
  resources: [namespaces]
  resourceNames: [kube-system]
  verbs: [get]
- apiGroups: [storage.k8s.io]
  resources: [volumeattachments]
  verbs: [list]
{{- end }}

{{/* Approvals, the published status, and whether another cloud controller runs. */}}
{{- define "hcloud-reconciler.Role.observe" -}}
- apiGroups: [""]
  resources: [configmaps]
  resourceNames: [hcloud-reconciler, hcloud-reconciler-approvals]
  verbs: [get]
- apiGroups: [apps]
  resources: [deployments, daemonsets]
  verbs: [list]
{{- end }}

{{/* Nodes, and their deletion after a last look; the status of Services, finalizers included; Events. */}}
{{- define "hcloud-reconciler.ClusterRole.reconcile" -}}
- apiGroups: [""]
  resources: [nodes]
  verbs: [get, patch, delete]
- apiGroups: [""]
  resources: [nodes/status, services/status]
  verbs: [patch]
- apiGroups: [""]
  resources: [events]
  verbs: [create, patch]
{{- end }}

{{/* Recording uses of approvals, publishing the status, and the Lease. Kubernetes cannot restrict create to a name. */}}
{{- define "hcloud-reconciler.Role.reconcile" -}}
- apiGroups: [""]
  resources: [configmaps]
  resourceNames: [hcloud-reconciler]
  verbs: [patch]
- apiGroups: [coordination.k8s.io]
  resources: [leases]
  resourceNames: [{{ include "hcloud-reconciler.lease" . }}]
  verbs: [get, update]
- apiGroups: [coordination.k8s.io]
  resources: [leases]
  verbs: [create]
{{- end }}

{{/* Looking at holds and at who leads, approving and revoking. */}}
{{- define "hcloud-reconciler.Role.approve" -}}
- apiGroups: [""]
  resources: [configmaps]
  resourceNames: [hcloud-reconciler, hcloud-reconciler-approvals]
  verbs: [get]
- apiGroups: [""]
  resources: [configmaps]
  resourceNames: [hcloud-reconciler-approvals]
  verbs: [patch]
- apiGroups: [coordination.k8s.io]
  resources: [leases]
  resourceNames: [{{ include "hcloud-reconciler.lease" . }}]
  verbs: [get]
{{- end }}
