/** Import: a batch of records of a source. Those that are accepted are stored, with the place of the import in the same change; the others are returned with the reason. */
import { hexDigest } from '../audit/checkpoint.ts'
import { parseFields } from '../barrier/parse-record.ts'
import { assertOwnFormsUnused, BYOT_MODES, type ByotMode, parseTokens } from '../barrier/supplied-tokens.ts'
import { type ErrorCode, Fault, fault, isVaultError, type VaultError, withoutStack, words } from '../errors.ts'
import { parseFlag, parseList, parseTable, parseUpsert, parseWriteModes } from '../execution/check-input.ts'
import type { OperationContext } from '../execution/context.ts'
import {
  alwaysGranted,
  assertColumnsWritable,
  assertRequiredWritable,
  requireAccess,
  requireColumn,
} from '../execution/grants.ts'
import type { Operation } from '../execution/operation.ts'
import { type Candidate, type Refused, type WritingMode, writeAcceptable } from '../execution/write-acceptable.ts'
import { checkNew, memberOf, upsertKey } from '../execution/write-records.ts'
import { assertPosition, findImport, type ImportPosition, type StoredImport, storeImport } from '../maintenance/import-row.ts'
import type { TableAccess } from '../policy/table-access.ts'
import type { Storage } from '../ports/storage.ts'
import type { Table } from '../schema/layout.ts'
import { abortableUnit, unitWith } from '../unit-of-work/unit-of-work.ts'
import { readInput } from '../util/boundary.ts'
import { assertItems, assertMembers, assertOptions, integer } from '../util/options.ts'
import { parseSignal, type Signal } from '../util/signal.ts'
import { createJsonBudget } from '../values/json-types.ts'

/** Options of a batch of an import. */
export interface ImportBatchOptions {
  /** A unique column, or the columns that are unique together: a record that holds the same values there is updated instead. */
  readonly upsert?: string | readonly string[]
  /** Whether records can, or must, have tokens supplied by the caller. Default DISABLE. */
  readonly byot?: ByotMode
  /** Accept `*REDACTED*` and masked forms as values. Default false. */
  readonly allowShownText?: boolean
  /** A value that is a string is the text of a value of its column, as a file has it. Default false: it is itself. */
  readonly areTexts?: boolean
  /** Check everything, and store nothing. Default false. */
  readonly dryRun?: boolean
  /** The columns that the source has: those that the caller cannot write are refused, by their positions. */
  readonly columns?: readonly string[]
  /** Aborted before the batch is handed to the storage, nothing of it is stored. */
  readonly signal?: Signal
}

/** Where an import is in its source. */
export interface ImportPlaceInput {
  /** Identifies the import, with its table. */
  readonly name: string
  /** Names the source for operators. Stored sealed. */
  readonly source?: string
  /** The place before this batch. Absent at the beginning, and to ask for the stored place. */
  readonly from?: ImportPosition
  /** The place after it. Absent: the place is not stored. */
  readonly to?: ImportPosition
  /** Records of the source, up to `to`, that were refused before they were sent. Default 0. */
  readonly rejected?: number
  /** True after the last record. Default false. */
  readonly isEnded?: boolean
}

/** Input of a batch of an import. */
export interface ImportInput {
  readonly table: string
  /** Can be empty. */
  readonly records: readonly { readonly fields: unknown; readonly tokens?: unknown }[]
  readonly options?: ImportBatchOptions
  readonly place?: ImportPlaceInput
}

/** A record that was refused. Nothing in it is a value. */
export interface RejectedRecord {
  /** Position in the request, from 0. */
  readonly index: number
  readonly column?: string
  readonly code: ErrorCode
  readonly reason: string
}

/** The place of an import that is stored. */
export interface ImportPlace {
  readonly records: number
  readonly rejected: number
  readonly isEnded: boolean
  /** The last batch: the records that were done before it, and those of it that the vault refused. A process that was killed may not have passed them on. */
  readonly last: { readonly from: number; readonly rejects: readonly RejectedRecord[] }
}

/** What became of a batch. */
export interface ImportResult {
  readonly rejects: readonly RejectedRecord[]
  /** In answer to a question for it; absent if there is none. */
  readonly place?: ImportPlace
}

/** A parsed request. */
export interface ImportRequest {
  readonly table: Table
  readonly records: readonly unknown[]
  readonly columns: readonly unknown[]
  readonly upsert: readonly string[] | undefined
  readonly mode: ByotMode
  readonly allowsShownText: boolean
  readonly areTexts: boolean
  readonly isDryRun: boolean
  readonly signal: Signal | undefined
  readonly place: ImportPlaceInput | undefined
}

const OPTION_NAMES = ['upsert', 'byot', 'allowShownText', 'areTexts', 'dryRun', 'columns', 'signal'] as const
const PLACE_MEMBERS = ['name', 'source', 'from', 'to', 'rejected', 'isEnded']

/** Thrown at the end of the change of a dry run, which so stores nothing. */
const DRY_RUN = new Error('a dry run stores nothing')

/** Stores the records that are accepted. Throws `forbidden` and `invalid_request` for what is wrong with all of them, and `failed_precondition` for another place than the stored one. */
export const importRecords: Operation<ImportInput, ImportRequest, ImportResult> = {
  action: 'INSERT',
  resourceType: 'RECORD',
  verb: 'Import',
  members: ['table', 'records', 'options', 'place'],
  once: {},
  notFoundStatus: 400,
  recorded: {
    table: 'name',
    records: { fields: 'columns', tokens: 'columns' },
    upsert: 'name',
    byot: BYOT_MODES,
    allowShownText: 'flag',
    areTexts: 'flag',
    dryRun: 'flag',
    columns: 'columns',
    signal: 'omitted',
    place: 'omitted',
  },
  parse({ table: name, records, options = {}, place }, context) {
    const table = parseTable(context, name)
    assertOptions<ImportBatchOptions>(options, OPTION_NAMES)
    const isEmpty = Array.isArray(records) && records.length === 0
    const list = isEmpty ? [] : parseList(context, records, 'records')
    assertItems(list, ['fields', 'tokens'], 'records')
    const { mode, allowsShownText } = parseWriteModes(options)
    return {
      table,
      records: list,
      columns: options.columns === undefined ? [] : parseList(context, options.columns, 'columns'),
      upsert: parseUpsert(options.upsert),
      mode,
      allowsShownText,
      areTexts: parseFlag(options.areTexts, 'areTexts'),
      isDryRun: parseFlag(options.dryRun, 'dryRun'),
      signal: parseSignal(options.signal),
      place: place === undefined ? undefined : parsePlace(place),
    }
  },
  async execute(context, request) {
    const access = requireAccess(context, request.table, 'CREATE')
    const key = upsertKey(context, access, { ...request, homogeneous: false, ignoresTaken: false })
    assertRequiredWritable(context, access)
    for (const [index, name] of request.columns.entries()) assertImportable(context, access, { name, index })
    const stored = await findPlace(context, request)
    const refused: Refused[] = []
    const mode = { access, key, allowsShownText: request.allowsShownText }
    const candidates = readInput(() => withoutStack(() => parseEach(context, mode, request, refused)))
    await store(context, { ...request, ...mode, candidates, stored }, refused)
    const isQuestion = request.place?.from === undefined && request.place?.to === undefined
    return { rejects: rejectsOf(refused), ...(isQuestion && stored !== undefined && { place: placeOf(stored) }) }
  },
}

function parsePlace(given: unknown): ImportPlaceInput {
  assertMembers(given, PLACE_MEMBERS, { member: 'place' })
  const name = memberOf(given, 'name')
  if (typeof name !== 'string' || name === '' || name.length > MAX_NAME)
    throw fault('invalid_request')`place.name must be a string of 1 to ${MAX_NAME} characters.`
  const source = memberOf(given, 'source') ?? ''
  if (typeof source !== 'string' || source.length > MAX_NAME)
    throw fault('invalid_request')`place.source must be a string of at most ${MAX_NAME} characters.`
  const rejected = count(memberOf(given, 'rejected') ?? 0)
  if (rejected === undefined) throw fault('invalid_request')`place.rejected must be a whole number from 0.`
  const from = parsePosition(memberOf(given, 'from'), 'from')
  const to = parsePosition(memberOf(given, 'to'), 'to')
  if (to !== undefined && to.records < (from?.records ?? 0))
    throw fault('invalid_request')`place.to must not be before place.from.`
  const isEnded = parseFlag(memberOf(given, 'isEnded'), 'place.isEnded')
  return { name, source, rejected, isEnded, ...(from !== undefined && { from }), ...(to !== undefined && { to }) }
}

/** Maximum length of the name of an import, and of that of its source. */
const MAX_NAME = 500

const count = integer(0)

function parsePosition(given: unknown, member: string): ImportPosition | undefined {
  if (given === undefined) return undefined
  const records = count(memberOf(given, 'records'))
  const digest = hexDigest(memberOf(given, 'digest'))
  if (records !== undefined && digest !== undefined) return { records, digest }
  throw fault('invalid_request')`place.${words(member)} must have records, a whole number from 0, and digest, 64 hex digits.`
}

/** Throws for a column that the caller cannot write. Names it by its position: the name can be a value, where a file has no header. */
function assertImportable(
  context: OperationContext,
  access: TableAccess,
  { name, index }: { readonly name: unknown; readonly index: number },
): void {
  const { table } = access
  const detail = { table: table.name, index }
  try {
    if (requireColumn(context, access, { name, action: 'CREATE' }).file === undefined) return
  } catch (error) {
    if (isVaultError(error, 'invalid_request'))
      throw fault('invalid_request', detail)`columns[${index}] is not a column of table ${table.name}.`
    throw error
  }
  throw fault('invalid_request', detail)`columns[${index}] holds files, which are uploaded.`
}

/** Returns the stored place, compared with that of the caller. */
async function findPlace(context: OperationContext, { table, place }: ImportRequest): Promise<StoredImport | undefined> {
  if (place === undefined) return undefined
  const stored = await findImport({ ...context, hash: context.audit.hash }, context.unit.storage, {
    table: table.name,
    name: place.name,
  })
  if (place.from !== undefined || place.to !== undefined) assertPosition(table.name, stored, place.from)
  return stored
}

/** Returns the records that are accepted by themselves, and adds the others to `refused`. */
function parseEach(
  context: OperationContext,
  { access, key, allowsShownText }: WritingMode,
  { records, mode, areTexts }: ImportRequest,
  refused: Refused[],
): Candidate[] {
  const { table } = access
  const { ring } = context.barrier
  const isGranted = alwaysGranted(access, 'CREATE')
  const candidates: Candidate[] = []
  let { left } = createJsonBudget(context.limits)
  for (let index = 0; index < records.length; index++) {
    const json = createJsonBudget(context.limits)
    const whole = json.left
    try {
      const fields = memberOf(records[index], 'fields')
      const tokens = memberOf(records[index], 'tokens')
      if (!isGranted) assertColumnsWritable(context, access, { members: [fields, tokens], action: 'CREATE' })
      const values = parseFields(table, fields, { index: undefined, json, areTexts })
      const supplied = parseTokens(table, tokens, { mode, values, index: undefined })
      if (supplied !== undefined)
        assertOwnFormsUnused({ ring, layout: context.layout }, table, {
          tokens: [supplied],
          values: [values],
          indexes: [undefined],
        })
      // Which records of an upsert are new, only the storage knows.
      if (key === undefined) checkNew(context, access, { values, index: undefined, isGranted, allowsShownText })
      candidates.push({ values, supplied, index })
    } catch (error) {
      if (!Fault.isFault(error)) throw error
      refused.push({ index, error: isOfName(error) ? unknownMember(table) : error })
    }
    left -= whole - json.left
    if (left < 0)
      throw fault('limit_exceeded')`The JSON values of these records have too many members together. Send fewer records at once.`
  }
  return candidates
}

/** True for a name that the schema does not have, or that the caller cannot know. */
function isOfName({ code, details }: VaultError): boolean {
  return code === 'invalid_request' && details[0]?.column !== undefined
}

/** A member of a line can be named by a value, so it is not repeated. */
function unknownMember(table: Table): Fault {
  return fault('invalid_request', { table: table.name })`The record has a member that is not a column of table ${table.name}.`
}

/** What is stored of a batch. */
interface Storing extends ImportRequest, WritingMode {
  readonly candidates: readonly Candidate[]
  readonly stored: StoredImport | undefined
}

/** Stores the candidates, with the place after them. */
async function store(context: OperationContext, storing: Storing, refused: Refused[]): Promise<void> {
  const { table, candidates, isDryRun, signal, stored, place } = storing
  const to = isDryRun ? undefined : place?.to
  const also = async (inner: Storage): Promise<void> => {
    if (isDryRun) throw DRY_RUN
    if (place === undefined || to === undefined) return
    const { name, source = '', rejected = 0, isEnded = false } = place
    await storeImport({ ...context, hash: context.audit.hash }, inner, {
      ...to,
      table: table.name,
      name,
      source,
      processName: context.processName,
      before: stored,
      rejected: (stored?.rejected ?? 0) + rejected + refused.length,
      isEnded,
      lastFrom: stored?.records ?? 0,
      lastRejects: JSON.stringify(rejectsOf(refused)),
    })
  }
  const given = abortableUnit(context.unit, signal)
  const unit = isDryRun || to !== undefined ? unitWith(given, also) : given
  try {
    const isStored = await writeAcceptable({ ...context, unit }, storing, candidates, refused)
    if (!isStored && to !== undefined) await unit.change(async () => {})
  } catch (error) {
    if (error !== DRY_RUN) throw error
    context.event.setWrittenRows(table, [])
  }
}

function placeOf({ records, rejected, isEnded, lastFrom, lastRejects }: StoredImport): ImportPlace {
  // It was authenticated, so it is what `store` wrote.
  return { records, rejected, isEnded, last: { from: lastFrom, rejects: JSON.parse(lastRejects) as RejectedRecord[] } }
}

/** A store says which record of the batch it refuses; the position in the batch means nothing to a reader of the reason. */
const POSITION = / \(records\[[0-9]+\]\)/g
const PATH = /\brecords\[[0-9]+\]/g

function rejectsOf(refused: readonly Refused[]): RejectedRecord[] {
  const rejects = refused.map(({ index, error }) => {
    const { code, message, details } = error
    const column = details[0]?.column
    const reason = message.replace(POSITION, '').replace(PATH, 'The record')
    return { index, code, reason, ...(column !== undefined && { column }) }
  })
  return rejects.sort((left, right) => left.index - right.index)
}
