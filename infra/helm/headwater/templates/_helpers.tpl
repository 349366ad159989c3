{{/* Names and labels; station: receiver, parser or api. */}}
{{- define "headwater.name" -}}
{{- if contains .Chart.Name .Release.Name }}{{ .Release.Name | trunc 50 | trimSuffix "-" }}{{ else }}{{ printf "%s-%s" .Release.Name .Chart.Name | trunc 50 | trimSuffix "-" }}{{ end }}
{{- end }}

{{- define "headwater.selector" -}}
app.kubernetes.io/name: {{ .root.Chart.Name }}
app.kubernetes.io/instance: {{ .root.Release.Name }}
app.kubernetes.io/component: {{ .station }}
{{- end }}

{{- define "headwater.labels" -}}
{{ include "headwater.selector" . }}
app.kubernetes.io/version: {{ .root.Chart.AppVersion | quote }}
app.kubernetes.io/managed-by: {{ .root.Release.Service }}
helm.sh/chart: {{ printf "%s-%s" .root.Chart.Name .root.Chart.Version }}
{{- end }}

{{- define "headwater.serviceAccount" -}}
{{- if .Values.serviceAccount.create }}{{ .Values.serviceAccount.name | default (include "headwater.name" .) }}{{ else }}{{ .Values.serviceAccount.name | default "default" }}{{ end }}
{{- end }}

{{/* Settings as variables: text as it is, everything else as JSON. */}}
{{- define "headwater.settings" -}}
{{- $own := index .root.Values .station }}
{{- range $name, $value := merge (dict) $own.settings .root.Values.settings }}
{{- if not (and (kindIs "string" $value) (empty $value)) }}
- name: HEADWATER_{{ upper $name }}
  value: {{ ternary $value (toJson $value) (kindIs "string" $value) | quote }}
{{- end }}
{{- end }}
{{- end }}

{{/* The pod of a station; stations: what it runs. */}}
{{- define "headwater.pod" -}}
{{- $values := .root.Values }}
{{- $own := index $values .station }}
metadata:
  labels:
    {{- include "headwater.labels" . | nindent 4 }}
    {{- with $values.podLabels }}{{ toYaml . | nindent 4 }}{{ end }}
  {{- with $values.podAnnotations }}
  annotations: {{- toYaml . | nindent 4 }}
  {{- end }}
spec:
  serviceAccountName: {{ include "headwater.serviceAccount" .root }}
  automountServiceAccountToken: false
  # Kubernetes would set HEADWATER_PORT and the like, which are settings
  enableServiceLinks: false
  terminationGracePeriodSeconds: 30
  {{- with $values.imagePullSecrets }}
  imagePullSecrets: {{- toYaml . | nindent 4 }}
  {{- end }}
  {{- with $values.nodeSelector }}
  nodeSelector: {{- toYaml . | nindent 4 }}
  {{- end }}
  {{- with $values.tolerations }}
  tolerations: {{- toYaml . | nindent 4 }}
  {{- end }}
  topologySpreadConstraints:
    - maxSkew: 1
      topologyKey: kubernetes.io/hostname
      whenUnsatisfiable: ScheduleAnyway
      labelSelector:
        matchLabels: {{- include "headwater.selector" . | nindent 10 }}
  securityContext:
    runAsNonRoot: true
    runAsUser: 10001
    runAsGroup: 10001
    fsGroup: 10001
    fsGroupChangePolicy: OnRootMismatch
    seccompProfile:
      type: RuntimeDefault
  containers:
    - name: {{ .station }}
      image: {{ printf "%s:%s" $values.image.repository ($values.image.tag | default .root.Chart.AppVersion) | quote }}
      imagePullPolicy: {{ $values.image.pullPolicy }}
      args: ["up"]
      env:
        - name: HEADWATER_STATIONS
          value: {{ toJson .stations | quote }}
        {{- if has "sinks" .stations }}
        - name: HEADWATER_SINKS
          value: /etc/headwater/sinks.yml
        {{- end }}
        {{- include "headwater.settings" . | nindent 8 }}
      envFrom:
        - secretRef:
            name: {{ $own.secretName | default $values.secretName }}
      ports:
        - name: http
          containerPort: 5000
      startupProbe:
        httpGet: {path: /health/live, port: http}
        periodSeconds: 3
        failureThreshold: 40
      livenessProbe:
        httpGet: {path: /health/live, port: http}
        periodSeconds: 10
        timeoutSeconds: 5
      readinessProbe:
        httpGet: {path: /health/ready, port: http}
        periodSeconds: {{ ternary 5 20 (eq .station "receiver") }}
        timeoutSeconds: {{ ternary 5 15 (eq .station "receiver") }}
      resources: {{- toYaml $own.resources | nindent 8 }}
      securityContext:
        allowPrivilegeEscalation: false
        readOnlyRootFilesystem: true
        privileged: false
        capabilities:
          drop: [ALL]
      volumeMounts:
        - name: data
          mountPath: /var/lib/headwater
        - name: tmp
          mountPath: /tmp
        {{- if has "sinks" .stations }}
        - name: sinks
          mountPath: /etc/headwater
          readOnly: true
        {{- end }}
  volumes:
    - name: tmp
      emptyDir: {}
    {{- if not .keepsData }}
    - name: data
      emptyDir: {}
    {{- end }}
    {{- if has "sinks" .stations }}
    - name: sinks
      secret:
        secretName: {{ $values.sinks.secretName }}
    {{- end }}
{{- end }}

{{- define "headwater.service" -}}
apiVersion: v1
kind: Service
metadata:
  name: {{ include "headwater.name" .root }}-{{ .station }}
  labels: {{- include "headwater.labels" . | nindent 4 }}
spec:
  type: {{ .root.Values.service.type }}
  selector: {{- include "headwater.selector" . | nindent 4 }}
  ports:
    - name: http
      port: {{ .root.Values.service.port }}
      targetPort: http
{{- end }}

{{- define "headwater.budget" -}}
apiVersion: policy/v1
kind: PodDisruptionBudget
metadata:
  name: {{ include "headwater.name" .root }}-{{ .station }}
  labels: {{- include "headwater.labels" . | nindent 4 }}
spec:
  maxUnavailable: 1
  selector:
    matchLabels: {{- include "headwater.selector" . | nindent 6 }}
{{- end }}
