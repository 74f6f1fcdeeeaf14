/** The limits that the API description states. Source: specification, "Limits"; for the others docs/http.md. */
import type { RouterOptions } from '../options.ts'
import type { StatedLimit } from './openapi.ts'

/** Returns the limits of a handler with these options. */
export function statedLimits({ limits }: RouterOptions): StatedLimit[] {
  return [
    limit('Records per SQL query result', limits.maxQueryRecords, 'records', 'Query'),
    limit('Default page size', 25, 'records', 'bulk get'),
    limit('Maximum page size', limits.maxPageSize, 'records', 'bulk get'),
    limit('Default offset', 0, 'records', 'bulk get'),
    limit('Unique string column length', 2500, 'characters', 'insert, update'),
    limit('Download URL validity', 15, 'minutes', 'get, batch'),
    limit('Upload URL validity', 15, 'minutes', 'upload URLs'),
    limit('clientTraceID length', 128, 'characters', 'audit'),
    limit('Error message length', 1000, 'characters', 'error envelope'),
    limit('Error http_status length', 100, 'characters', 'error envelope'),
    limit('Error details', 25, 'entries', 'error envelope'),
    limit('Files per upload request', 1, 'files', 'uploads'),
    limit('JSON body length', limits.maxBodyBytes, 'bytes', 'every request with a JSON body'),
    limit('Credential length', 8192, 'characters', 'Authorization header'),
    limit('Default page of audit events', 25, 'events', 'audit'),
    limit('Maximum page of audit events', 100, 'events', 'audit'),
    limit('Token length', 256, 'characters', 'supplied tokens'),
    limit('Query length', 16_384, 'characters', 'Query'),
  ]
}

function limit(name: string, value: number, unit: string, appliesTo: string): StatedLimit {
  return { limit: name, value, unit, appliesTo }
}
