/** How the specification's endpoints are noted, and what several of them share. */

/** Members by path: `records[].fields`, `fileMetadata.*.fileName`. */
export type Members = Readonly<Record<string, string>>

/** One endpoint. */
export interface SpecifiedEndpoint {
  readonly method: 'GET' | 'POST' | 'PUT' | 'DELETE'
  readonly path: string
  readonly isDeprecated?: true
  readonly query?: Members
  readonly bodyType?: 'multipart/form-data'
  readonly body?: Members
  /** Members of the bodies of successes by status. */
  readonly responses: Readonly<Record<number, Members>>
  /** Absent where the specification names none. */
  readonly errors?: readonly number[]
}

/** "Shared redaction enum R1". */
export const R1 = 'DEFAULT|REDACTED|MASKED|PLAIN_TEXT'
/** The enum of byot. */
export const BYOT = 'DISABLE|ENABLE|ENABLE_STRICT default DISABLE'
/** All statuses of errors. */
export const EVERY_ERROR = [400, 401, 404, 422, 500]

/** "FileMetadata", by column. */
export const FILE_METADATA = (path: string): Members => ({
  [path]: 'object',
  [`${path}.*`]: 'object',
  [`${path}.*.fileName`]: 'string',
  [`${path}.*.fileSizeKB`]: 'integer',
  [`${path}.*.fileType`]: 'string',
})

/** "GetFieldRecords". */
export const READ_RECORD: Members = { fields: 'object', tokens: 'object', ...FILE_METADATA('fileMetadata') }

/** Members of each item of a list. */
export const each = (path: string, members: Members): Members => ({
  [path]: 'array',
  [`${path}[]`]: 'object',
  ...Object.fromEntries(Object.entries(members).map(([name, notation]) => [`${path}[].${name}`, notation])),
})

/** Members of the query of a read. */
export const SHOWN_RECORD: Members = {
  redaction: R1,
  tokenization: 'boolean',
  fields: 'array',
  'fields[]': 'string',
  downloadURL: 'boolean',
  returnFileMetadata: 'boolean',
}

/** The path of any table. */
export const TABLE = '/v1/vaults/{vaultID}/{objectName}'
