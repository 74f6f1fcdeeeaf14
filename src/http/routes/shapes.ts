/** Shapes that several routes share. */
import { z } from 'zod'

/** Values or tokens by column. The vault checks the columns, so that an error never repeats what is no name of the schema. */
export const BY_COLUMN = z
  .custom<Readonly<Record<string, unknown>>>(
    (given) => typeof given === 'object' && given !== null && !Array.isArray(given),
    'must be an object of columns',
  )
  .meta({ type: 'object', additionalProperties: true })

/** The redactions of the specification's enum R1. */
export const REDACTION = ['DEFAULT', 'REDACTED', 'MASKED', 'PLAIN_TEXT'] as const

/** How requests treat tokens supplied by the caller. */
export const BYOT = ['DISABLE', 'ENABLE', 'ENABLE_STRICT'] as const

/** A record of a request. Source: specification, "Record (FieldRecords)". */
export const RECORD = z.object({ fields: BY_COLUMN.optional(), tokens: BY_COLUMN.optional() })

/** Metadata of files by column. Source: specification, "FileMetadata". */
export const FILE_METADATA = z.record(
  z.string(),
  z.object({ fileName: z.string(), fileSizeKB: z.int().nonnegative(), fileType: z.string() }),
)

/** A record that a read returns. Source: specification, "GetFieldRecords". */
export const READ_RECORD = z.object({
  fields: z.record(z.string(), z.unknown()),
  tokens: z.record(z.string(), z.unknown()).optional(),
  fileMetadata: FILE_METADATA.optional(),
})

/** A member whose name the host chose, in a shape whose other members have types. Its value is read with `Reflect.get`. */
export function namedShape(name: string, shape: z.ZodType): Record<never, never> {
  return { [name]: shape }
}
