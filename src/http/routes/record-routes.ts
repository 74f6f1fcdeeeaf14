/** Routes of the records of any table. Source: specification, "Records (table routes)". */
import * as z from 'zod'
import type { Names } from '../names.ts'
import type { RouterOptions } from '../options.ts'
import {
  choice,
  flag,
  integer,
  list,
  named,
  namedList,
  type QueryMember,
  type QueryOf,
  text,
  values,
} from '../router/request-shape.ts'
import { operationRoute, type Route } from '../router/route.ts'
import { recordExamples } from './examples.ts'
import {
  BYOT_MEMBER,
  deletedShape,
  flagMember,
  idShape,
  isObject,
  namedShape,
  READ_RECORD,
  RECORD,
  REDACTION_QUERY,
  toWireId,
  toWireIds,
  toWireRecord,
  UPSERT_MEMBER,
  VAULT_MEMBER,
} from './shapes.ts'

/** Members of the query of a read. */
const SHOW = {
  redaction: REDACTION_QUERY,
  tokenization: flag('Return tokens in place of values.'),
  fields: list('Columns to return. Default: all that the caller can read.'),
  downloadURL: flag('Return an URL, valid for 15 minutes, for each file that can be downloaded.'),
  returnFileMetadata: flag('Return the metadata of files.'),
}

/** Returns the options of a read that its query gives. The id is in every record, so naming it beside columns adds nothing. */
function shownBy({ fields: columns, ...query }: QueryOf<typeof SHOW>, { id }: Names) {
  const { redaction, tokenization, downloadURL: downloadTickets, returnFileMetadata } = query
  const fields = columns?.filter((column) => column !== id)
  return present({ redaction, tokenization, fields, downloadTickets, returnFileMetadata })
}

const ORDERS = ['ASCENDING', 'DESCENDING', 'NONE'] as const

/** Where the routes of records are: those of any table, or of one table with legacy routes. */
export interface RecordPlace {
  readonly group: 'Records' | 'Legacy records'
  /** Path of the table. */
  readonly path: string
  /** The table; undefined if the path has it as a parameter. */
  readonly table: string | undefined
}

/** The routes of any table. */
export const ANY_TABLE: RecordPlace = { group: 'Records', path: '/v1/vaults/{vaultID}/{objectName}', table: undefined }

/** Returns the routes of records: those of the specification, and for a legacy table its older ones with them. */
export function recordRoutes(options: RouterOptions, place: RecordPlace): Route[] {
  return [
    getRoute(options, place),
    insertRoute(options, place),
    deleteRoute(options, place),
    getOneRoute(options, place),
    updateRoute(options, place),
    deleteOneRoute(options, place),
  ]
}

/** What legacy routes have whose bodies hold records. */
const BARE = {
  description: 'A record can also be an object of its columns, without the members fields and tokens.',
  /** Returns a body whose records are in the form of the specification's later routes. */
  toShape(body: unknown): unknown {
    if (!isObject(body)) return body
    const { records, record }: { readonly records?: unknown; readonly record?: unknown } = body
    return {
      ...body,
      ...(Array.isArray(records) ? { records: records.map(toFieldRecord) } : {}),
      ...(isObject(record) ? { record: toFieldRecord(record) } : {}),
    }
  },
} as const

function toFieldRecord(given: unknown): unknown {
  const isBare = isObject(given) && !Object.hasOwn(given, 'fields') && !Object.hasOwn(given, 'tokens')
  return isBare ? { fields: given } : given
}

function getRoute({ names, limits }: RouterOptions, { group, path, table }: RecordPlace): Route {
  const ofPage = table === undefined ? <T>(member: QueryMember<T>) => member : unlessTokens
  return operationRoute({
    method: 'GET',
    path,
    group,
    ...titled('getRecords', names, table),
    summary: 'Returns records: by their ids, by the value of a column, or page by page.',
    operation: 'get',
    verb: 'Get',
    statuses: [400, 401, 404, 422, 500],
    query: {
      ...named(names.ids, list('Ids of the records.')),
      ...SHOW,
      offset: ofPage(integer('Records to skip.', [0, Number.MAX_SAFE_INTEGER, 0])),
      after: text('The `next` of a page, in place of offset: the records after it, whatever was deleted or inserted meanwhile.'),
      limit: ofPage(integer(`Records to return at most, 1 to ${limits.maxPageSize}.`, [1, limits.maxPageSize, 25])),
      column_name: text('A unique or searchable column to look up.'),
      column_values: values('Values to look up in the column.'),
      order_by: choice('The order of insertion. NONE, or none with ids: no order of its own.', ORDERS),
    },
    response: z.object({
      records: z.array(READ_RECORD).describe('In the order of the ids, or of insertion.'),
      next: z
        .string()
        .optional()
        .describe('Where the next page begins, for `after`. Absent behind the last record, and with ids.'),
    }),
    read({ params, query, call }) {
      const { column_name: column, column_values: values, order_by: orderBy, offset, after, limit } = query
      const shown = shownBy(query, names)
      const ids = namedList(call.query(), names.ids)
      const where =
        column === undefined ? (values?.every((value) => value === '') === false ? {} : undefined) : { [column]: values }
      const isTokenView = table !== undefined && shown.tokenization === true
      const page = isTokenView && ids === undefined ? { limit: limits.maxPageSize } : { offset, limit }
      const options = present({ ids, after, orderBy, ...shown, where, ...page })
      return { table: table ?? params.objectName ?? '', options, areTexts: true }
    },
    write: ({ records, next }, { call }) => ({
      records: records.map((record) => toWireRecord(record, call)),
      ...(next === undefined ? {} : { next }),
    }),
  })
}

/** A member that does not apply to the token view of a legacy route. Source: specification, "Per-table legacy routes". */
function unlessTokens<T>(member: QueryMember<T>): QueryMember<T> {
  return {
    ...member,
    description: `${member.description} Not of the token view.`,
    read: (texts, name, all) => (all.get('tokenization')?.[0] === 'true' ? undefined : member.read(texts, name, all)),
  }
}

function insertRoute({ names }: RouterOptions, { group, path, table }: RecordPlace): Route {
  return operationRoute({
    method: 'POST',
    path,
    group,
    ...titled('insertRecords', names, table),
    summary: 'Inserts records, all or none; with upsert, updates those that exist.',
    operation: 'insert',
    verb: 'Insert',
    statuses: [400, 401, 422, 500],
    ...(table === undefined ? {} : BARE),
    body: z.object({
      records: z.array(RECORD).describe('The records, one or more.'),
      tokenization: flagMember('Return the tokens of each record.'),
      upsert: UPSERT_MEMBER,
      homogeneous: flagMember('Refuse records that have different columns. Not with upsert.'),
      byot: BYOT_MEMBER,
      vaultID: VAULT_MEMBER,
    }),
    response: z.object({ records: z.array(idShape(names.id)).describe('In the order of the request.') }),
    read({ params, body: { records, tokenization, upsert, homogeneous, byot } }) {
      const options = present({ tokenization, upsert, homogeneous, byot })
      return { table: table ?? params.objectName ?? '', records: records.map(toRecord), options }
    },
    write: ({ records }) => ({ records: toWireIds(names, records) }),
  })
}

/** What the option of deletions says. */
const TRANSIENTS = 'Delete the transient values of the records too. Default false: they stay until they expire.'

function deleteRoute({ names }: RouterOptions, { group, path, table }: RecordPlace): Route {
  return operationRoute({
    method: 'DELETE',
    path,
    group,
    ...titled('deleteRecords', names, table),
    summary: 'Deletes records by their ids; "*" alone deletes all records of the table.',
    operation: 'delete',
    verb: 'Delete',
    statuses: [400, 401, 404, 500],
    body: z.object({
      ...namedShape(names.ids, z.array(z.string()).describe('Ids of the records, or "*" alone.')),
      transients: flagMember(TRANSIENTS),
      vaultID: VAULT_MEMBER,
    }),
    response: z.object({ RecordIDResponse: z.array(z.string()).describe('The ids of the request, or "*".') }),
    read: ({ params, body }) => ({
      table: table ?? params.objectName ?? '',
      ids: Reflect.get(body, names.ids),
      options: present({ transients: body.transients }),
    }),
    write: ({ ids }) => ({ RecordIDResponse: [...ids] }),
  })
}

function getOneRoute({ names }: RouterOptions, { group, path, table }: RecordPlace): Route {
  return operationRoute({
    method: 'GET',
    path: `${path}/{ID}`,
    group,
    ...titled('getRecord', names, table),
    summary: 'Returns one record.',
    operation: 'getOne',
    verb: 'Get',
    statuses: [400, 401, 404, 422, 500],
    query: SHOW,
    response: READ_RECORD,
    read: ({ params, query }) => ({
      table: table ?? params.objectName ?? '',
      id: params.ID ?? '',
      options: shownBy(query, names),
    }),
    write: (record, { call }) => toWireRecord(record, call),
  })
}

function updateRoute({ names }: RouterOptions, { group, path, table }: RecordPlace): Route {
  const isLegacy = table !== undefined
  return operationRoute({
    method: 'PUT',
    path: `${path}/{ID}`,
    group,
    ...titled('updateRecord', names, table),
    summary: 'Updates columns of a record. Each named column gets its whole new value.',
    operation: 'updateOne',
    verb: 'Update',
    statuses: [400, 401, 404, 422, 500],
    ...(isLegacy ? BARE : {}),
    body: z.object({
      record: RECORD,
      tokenization: flagMember('Return the tokens of the record.'),
      byot: BYOT_MEMBER,
      vaultID: VAULT_MEMBER,
      ID: z.string().optional().describe('The id of the path, or absent.'),
    }),
    response: idShape(names.id)
      .extend(isLegacy ? { updatedTime: z.iso.datetime().describe('Time of the update.') } : {})
      .meta({ title: isLegacy ? 'UpdatedRecord' : 'StoredRecord', description: 'The record that was updated.' }),
    read({ params, body: { record, tokenization, byot } }) {
      const { fields, tokens } = record
      const options = present({ tokens, tokenization, byot })
      return { table: table ?? params.objectName ?? '', id: params.ID ?? '', fields, options }
    },
    write: (record) => ({ ...toWireId(names, record), ...(isLegacy ? { updatedTime: record.updatedAt } : {}) }),
  })
}

function deleteOneRoute({ names }: RouterOptions, { group, path, table }: RecordPlace): Route {
  return operationRoute({
    method: 'DELETE',
    path: `${path}/{ID}`,
    group,
    ...titled('deleteRecord', names, table),
    summary: 'Deletes one record.',
    operation: 'deleteOne',
    verb: 'Delete',
    statuses: [400, 401, 404, 500],
    query: { transients: flag(TRANSIENTS) },
    response: deletedShape(names.id),
    read: ({ params, query }) => ({ table: table ?? params.objectName ?? '', id: params.ID ?? '', options: present(query) }),
    write: ({ id }) => ({ [names.id]: id, deleted: true }),
  })
}

/** Returns the name and the example of a route. */
function titled(name: keyof ReturnType<typeof recordExamples>, names: Names, table: string | undefined) {
  const isLegacy = table !== undefined
  return { name: isLegacy ? `${name}_${table}` : name, example: recordExamples(names, isLegacy)[name] }
}

/** Returns the members that are not undefined: the vault refuses options that it does not know, and reads the others. */
function present<T extends object>(members: T): { [Name in keyof T]?: Exclude<T[Name], undefined> } {
  const kept: Partial<T> = {}
  for (const name in members) if (members[name] !== undefined) kept[name] = members[name]
  // Only undefined members are left out.
  return kept as ReturnType<typeof present<T>>
}

function toRecord({ fields, tokens }: z.output<typeof RECORD>): { fields: unknown; tokens?: unknown } {
  return tokens === undefined ? { fields } : { fields, tokens }
}
