/** The names under which record ids travel. A host can choose them, so that its clients keep theirs. */
import { readOptions } from '../core/util/options.ts'
import { VaultError } from '../index.ts'

/** The name of the record id, of a list of ids, and of the id beside a file. */
export interface Names {
  /** In records, answers, and the text of queries. Default `svc_id`. */
  readonly id: string
  /** In lists of ids: query members and bodies. Default `svc_ids`. */
  readonly ids: string
  /** In requests and answers about files. Default `svcID`. */
  readonly fileId: string
}

/** The names of the specification. */
const DEFAULT_NAMES: Names = { id: 'svc_id', ids: 'svc_ids', fileId: 'svcID' }

/** Names that mean something else where an id is read or written. */
const TAKEN: ReadonlySet<string> = new Set(
  `fields tokens records record redaction tokenization offset limit downloadURL error deleted column_name column_values order_by
  returnFileMetadata fileMetadata tableName columnName file columns fileColumns fileFields uploadURLs vaultID ID updatedTime
  RecordIDResponse __proto__ constructor prototype`.split(/\s+/),
)

/** Returns the names with their defaults. Throws `invalid_request` for one that is no name, or that is in use beside it. */
export function parseNames(given: Partial<Names> = {}): Names {
  const names = { ...DEFAULT_NAMES, ...readOptions(given, ['id', 'ids', 'fileId'], { of: 'createHandler', member: 'names' }) }
  for (const member of ['id', 'ids', 'fileId'] as const) {
    const name: unknown = names[member]
    if (typeof name !== 'string' || !/^[A-Za-z_][A-Za-z0-9_]{0,62}$/.test(name) || TAKEN.has(name))
      throw new VaultError(
        'invalid_request',
        `Option "names.${member}" must be a name of letters, digits and "_", which no other member has.`,
      )
  }
  // Queries name the id as they name columns.
  if (!/^[a-z][a-z0-9_]*$/.test(names.id))
    throw new VaultError(
      'invalid_request',
      'Option "names.id" must have the form of a column: lower case, digits and "_", from a letter.',
    )
  if (names.id === names.ids) throw new VaultError('invalid_request', 'Options "names.id" and "names.ids" must differ.')
  return names
}
