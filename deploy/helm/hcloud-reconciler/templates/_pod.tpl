{{/* The one template of all pods: of the Deployment, the DaemonSet and the CronJob. */}}
{{- define "hcloud-reconciler.pod" -}}
{{- $stays := ne .Values.kind "CronJob" -}}
{{- $probes := include "hcloud-reconciler.probes" . -}}
{{- $host := include "hcloud-reconciler.probeHost" . -}}
metadata:
  labels:
    {{- include "hcloud-reconciler.selectorLabels" . | nindent 4 }}
    {{- with .Values.podLabels }}
    {{- toYaml . | nindent 4 }}
    {{- end }}
  {{- with .Values.podAnnotations }}
  annotations:
    {{- toYaml . | nindent 4 }}
  {{- end }}
spec:
  serviceAccountName: {{ include "hcloud-reconciler.name" . }}
  {{- with .Values.image.pullSecrets }}
  imagePullSecrets:
    {{- toYaml . | nindent 4 }}
  {{- end }}
  {{- if eq (include "hcloud-reconciler.hostNetwork" .) "true" }}
  hostNetwork: true
  {{- end }}
  dnsPolicy: {{ .Values.dnsPolicy }}
  {{- with .Values.dnsConfig }}
  dnsConfig:
    {{- toYaml . | nindent 4 }}
  {{- end }}
  {{- with .Values.priorityClassName }}
  priorityClassName: {{ . }}
  {{- end }}
  {{- if not $stays }}
  restartPolicy: Never
  {{- end }}
  # A clean exit takes ten seconds at most.
  terminationGracePeriodSeconds: 15
  {{- with .Values.podSecurityContext }}
  securityContext:
    {{- toYaml . | nindent 4 }}
  {{- end }}
  {{- with .Values.nodeSelector }}
  nodeSelector:
    {{- toYaml . | nindent 4 }}
  {{- end }}
  {{- if .Values.affinity }}
  affinity:
    {{- toYaml .Values.affinity | nindent 4 }}
  {{- else if and (eq .Values.kind "Deployment") (gt (int .Values.replicaCount) 1) }}
  affinity:
    podAntiAffinity:
      preferredDuringSchedulingIgnoredDuringExecution:
        - weight: 100
          podAffinityTerm:
            topologyKey: kubernetes.io/hostname
            labelSelector:
              matchLabels:
                {{- include "hcloud-reconciler.selectorLabels" . | nindent 16 }}
  {{- end }}
  tolerations:
    {{- include "hcloud-reconciler.tolerations" . | nindent 4 }}
    {{- $usual := include "hcloud-reconciler.tolerations" . | fromYamlArray }}
    {{- range uniq .Values.additionalTolerations }}
    {{- if not (or (has . $usual) (and (eq (.operator | default "") "Equal") (has (omit . "operator") $usual))) }}
    {{- toYaml (list .) | nindent 4 }}
    {{- end }}
    {{- end }}
  containers:
    - name: hcloud-reconciler
      image: {{ printf "%s:%s" .Values.image.repository (tpl .Values.image.tag .) | quote }}
      imagePullPolicy: {{ .Values.image.pullPolicy }}
      args:
        {{- $flags := include "hcloud-reconciler.flags" . | fromYaml }}
        {{- if not (or (hasKey $flags "once") (hasKey $flags "dry-run")) }}
        - run
        {{- end }}
        {{- range $flag, $value := $flags }}
        {{- if not (kindIs "invalid" $value) }}
        {{- $text := kindIs "string" $value | ternary $value (toJson $value) }}
        - {{ $text | eq "" | ternary (printf "--%s" $flag) (printf "--%s=%s" $flag $text) | quote }}
        {{- end }}
        {{- end }}
      env:
        {{- range $name, $value := include "hcloud-reconciler.env" . | fromYaml }}
        {{- if not (kindIs "invalid" $value) }}
        - name: {{ $name }}
          {{- /* Helm merges a value into the default's valueFrom, of which the API server takes only one. */}}
          {{- if kindIs "invalid" $value.value }}
          {{- tpl (toYaml (pick $value "valueFrom")) $ | nindent 10 }}
          {{- else }}
          value: {{ tpl $value.value $ | quote }}
          {{- end }}
        {{- end }}
        {{- end }}
      {{- if $stays }}
      ports:
        {{- if eq $probes "health" }}
        - name: health
          containerPort: {{ int .Values.health.port }}
        {{- end }}
        {{- if .Values.monitoring.enabled }}
        - name: metrics
          containerPort: {{ int .Values.monitoring.port }}
        {{- end }}
        {{- if include "hcloud-reconciler.servesPage" . }}
        - name: page
          containerPort: {{ int .Values.page.port }}
        {{- end }}
      livenessProbe:
        httpGet:
          {{- with $host }}
          host: {{ . | quote }}
          {{- end }}
          path: /livez
          port: {{ $probes }}
        initialDelaySeconds: 10
        periodSeconds: 10
        timeoutSeconds: 5
        failureThreshold: 3
      readinessProbe:
        httpGet:
          {{- with $host }}
          host: {{ . | quote }}
          {{- end }}
          path: /readyz
          port: {{ $probes }}
        periodSeconds: 5
        timeoutSeconds: 5
      {{- end }}
      {{- with .Values.resources }}
      resources:
        {{- toYaml . | nindent 8 }}
      {{- end }}
      {{- with .Values.securityContext }}
      securityContext:
        {{- toYaml . | nindent 8 }}
      {{- end }}
      {{- with .Values.extraVolumeMounts }}
      volumeMounts:
        {{- toYaml . | nindent 8 }}
      {{- end }}
  {{- with .Values.extraVolumes }}
  volumes:
    {{- toYaml . | nindent 4 }}
  {{- end }}
{{- end }}
