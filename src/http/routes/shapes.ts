/** Shapes that several routes share, and records as they travel: the record id is a member under the name that the host chose. */
import * as z from 'zod'
import type { OperationResult, UntypedRecord } from '../../index.ts'
import type { Names } from '../names.ts'
import { choice } from '../router/request-shape.ts'
import { fileUrl, type UrlCall } from '../router/urls.ts'

/** True for an object that is not a list. */
export function isObject(given: unknown): given is object {
  return typeof given === 'object' && given !== null && !Array.isArray(given)
}

/** Values or tokens by column. The vault checks the columns, so that an error never repeats what is no name of the schema. */
export const BY_COLUMN = z
  .custom<Readonly<Record<string, unknown>>>(isObject, 'must be an object of columns')
  .meta({ type: 'object', additionalProperties: true })

/** Values or tokens by column, in a response. */
export const SHOWN_BY_COLUMN = z.record(z.string(), z.unknown())

/** The redactions of the specification's enum R1. */
export const REDACTION = ['DEFAULT', 'REDACTED', 'MASKED', 'PLAIN_TEXT'] as const

/** The level of a request, in its body. */
export const REDACTION_MEMBER = z.enum(REDACTION).optional().meta({
  title: 'Redaction',
  description: 'The level of the values; the lower one that the policy allows is taken.',
  default: 'DEFAULT',
})

/** The level of a request, in its query. */
export const REDACTION_QUERY = choice('The level of the values; the lower one that the policy allows is taken.', REDACTION, {
  title: 'Redaction',
  initial: 'DEFAULT',
})

/** How requests treat tokens supplied by the caller. */
export const BYOT = ['DISABLE', 'ENABLE', 'ENABLE_STRICT'] as const

/** What an upsert goes by, in the body of a request. */
export const UPSERT_MEMBER = z
  .union([z.string(), z.array(z.string())])
  .optional()
  .describe(
    'A unique column, or the list of columns that are unique together: a record with the same values is updated, or else inserted. For POST.',
  )

/** The mode of a request, in its body. */
export const BYOT_MEMBER = z.enum(BYOT).optional().meta({
  title: 'ByotMode',
  description:
    'DISABLE refuses tokens of the request, ENABLE takes them and makes the others, ENABLE_STRICT needs one for each value.',
  default: 'DISABLE',
})

/** True or false in a body, where an absent one is false. */
export function flagMember(description: string) {
  return z.boolean().optional().meta({ description, default: false })
}

/** The vault in a body, as legacy requests have it. The path names the vault: another one here is refused. */
export const VAULT_MEMBER = z.string().optional().describe('The vault of the path, or absent.')

/** A record of a request. Source: specification, "Record (FieldRecords)". */
export const RECORD = z
  .object({
    fields: BY_COLUMN.optional().describe('Values by column.'),
    tokens: BY_COLUMN.optional().describe('Tokens by column, for byot.'),
  })
  .meta({ title: 'FieldRecords', description: 'A record.' })

/** Metadata of files by column. Source: specification, "FileMetadata". */
export const FILE_METADATA = z.record(
  z.string(),
  z
    .object({
      fileName: z.string().describe('Includes the extension, if the upload gave one.'),
      fileSizeKB: z.int().nonnegative().describe('Size in KB, rounded up.'),
      fileType: z.string().describe('MIME type, detected from the content.'),
    })
    .meta({ title: 'FileMetadata', description: 'What is known of a file.' }),
)

/** A record that a read returns. Source: specification, "GetFieldRecords". */
export const READ_RECORD = z
  .object({
    fields: SHOWN_BY_COLUMN.describe('Values by column, and the record id. With tokenization: tokens in place of values.'),
    tokens: SHOWN_BY_COLUMN.optional().describe('Tokens by column, with tokenization.'),
    fileMetadata: FILE_METADATA.optional().describe('By file column, with returnFileMetadata.'),
  })
  .meta({ title: 'GetFieldRecords', description: 'A record.' })

/** A record that was stored. */
export function idShape(name: string) {
  return z
    .object({
      ...namedShape(name, z.string().describe('Id of the record.')),
      tokens: SHOWN_BY_COLUMN.optional().describe('Tokens by column, with tokenization.'),
    })
    .meta({ title: 'StoredRecord', description: 'A record that was stored.' })
}

/** What was deleted of a record, or the record itself. */
export function deletedShape(name: string) {
  return z
    .object({ ...namedShape(name, z.string().describe('Id of the record.')), deleted: z.boolean().describe('True.') })
    .meta({ title: 'Deleted', description: 'A record, or a file of a record, that was deleted.' })
}

/** A member whose name the host chose, in a shape whose other members have types. Its value is read with `Reflect.get`. */
export function namedShape(name: string, shape: z.ZodType): Record<never, never> {
  return { [name]: shape }
}

/** A record of a read, as the wire has it. */
export interface WireRecord {
  readonly fields: Record<string, unknown>
  readonly tokens?: Record<string, unknown>
  readonly fileMetadata?: UntypedRecord['fileMetadata'] & {}
}

/**
 * Returns a record as clients read it. With tokens, `fields` holds the id and the tokens, and `tokens` the same without the id. A file
 * that can be downloaded has its URL in `fields`.
 */
export function toWireRecord(record: UntypedRecord, call: UrlCall): WireRecord {
  const { id, fields, tokens, fileMetadata, downloadTickets } = record
  return {
    fields: { [call.options.names.id]: id, ...fields, ...tokens, ...urlsOf(downloadTickets, call) },
    ...(tokens === undefined ? {} : { tokens }),
    ...(fileMetadata === undefined ? {} : { fileMetadata }),
  }
}

function urlsOf(tickets: UntypedRecord['downloadTickets'], call: UrlCall): Record<string, string> | undefined {
  if (tickets === undefined) return undefined
  return Object.fromEntries(Object.entries(tickets).map(([column, ticket]) => [column, fileUrl(call, ticket)]))
}

/** Returns inserted records. The wire has no `onConflict`, so none is left out. */
export function toWireIds(names: Names, records: OperationResult<'insert'>['records']): Record<string, unknown>[] {
  return records.flatMap((record) => (record.ignored === true ? [] : [toWireId(names, record)]))
}

/** Returns a stored record: its id, and its tokens where they were asked for. */
export function toWireId(
  { id: name }: Names,
  { id, tokens }: { readonly id: string; readonly tokens?: object },
): Record<string, unknown> {
  return { [name]: id, ...(tokens === undefined ? {} : { tokens }) }
}
