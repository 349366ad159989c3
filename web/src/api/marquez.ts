// The parts of Marquez's API that the page reads; docs/marquez.md has the rest.
export interface Id {
  namespace: string;
  name: string;
}

export type Facets = Record<string, unknown>;

export interface Field {
  name: string;
  type: string | null;
  tags: string[];
  description: string | null;
}

interface InputField {
  namespace: string;
  dataset: string;
  field: string;
  transformations: { type: string; subtype: string | null; masking: boolean; description: string | null }[];
}

export interface Dataset {
  id: Id;
  type: string;
  namespace: string;
  name: string;
  createdAt: string | null;
  updatedAt: string | null;
  fields: Field[];
  tags: string[];
  description: string | null;
  columnLineage: { name: string; inputFields: InputField[] }[] | null;
  facets: Facets;
  deleted: boolean;
}

export interface Version {
  version: string;
  createdAt: string;
  externalVersion?: string | null;
  fields: Field[];
  lifecycleState?: string | null;
  createdByRun?: { id: string } | null;
}

export interface Run {
  id: string;
  state: string;
  createdAt: string;
  updatedAt: string;
  startedAt: string | null;
  endedAt: string | null;
  durationMs: number | null;
  nominalStartTime: string | null;
  facets: Facets;
  inputDatasetVersions?: { datasetVersionId: Id }[];
  outputDatasetVersions?: { datasetVersionId: Id }[];
  jobVersion?: (Id & { version: string }) | null;
}

export interface Job {
  id: Id;
  type: string;
  namespace: string;
  name: string;
  parentJobName: string | null;
  createdAt: string;
  updatedAt: string;
  inputs: Id[];
  outputs: Id[];
  location: string | null;
  description: string | null;
  tags: string[];
  facets: Facets;
}

const part = encodeURIComponent;

export const marquez = {
  dataset: (id: Id) => `/api/v1/namespaces/${part(id.namespace)}/datasets/${part(id.name)}`,
  versions: (id: Id) => `${marquez.dataset(id)}/versions`,
  job: (id: Id) => `/api/v1/namespaces/${part(id.namespace)}/jobs/${part(id.name)}`,
  runs: (id: Id) => `${marquez.job(id)}/runs`,
  run: (id: string) => `/api/v1/jobs/runs/${part(id)}`,
};
