// The Marquez API addresses that the pages use, and the types of their answers. docs/reference/marquez.md describes the API.
import { part, type Schemas } from './client';

export type Id = Schemas['Job'];
export type Facets = Record<string, unknown>;
export type Dataset = Schemas['MarquezDataset'];
export type Versions = Schemas['MarquezVersions'];
export type Job = Schemas['MarquezJob'];
export type Run = Schemas['MarquezRun'];
export type RunFacets = Schemas['MarquezFacets'];
export type Namespaces = Schemas['MarquezNamespaces'];

export const marquez = {
  namespaces: '/api/v1/namespaces',
  dataset: (id: Id) => `/api/v1/namespaces/${part(id.namespace)}/datasets/${part(id.name)}`,
  versions: (id: Id) => `${marquez.dataset(id)}/versions`,
  job: (id: Id) => `/api/v1/namespaces/${part(id.namespace)}/jobs/${part(id.name)}`,
  run: (id: string) => `/api/v1/jobs/runs/${part(id)}`,
};
