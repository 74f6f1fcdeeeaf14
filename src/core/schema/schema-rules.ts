/** Rules of a schema that concern more than one column: what is unique together, whose records are a person's, and how long values are kept. */
import * as z from 'zod'
import type { SchemaDefinition } from './column.ts'
import type { RetentionDefinition, RetentionRules } from './retention.ts'
import type { SubjectDefinition } from './subjects.ts'

/** The rules as plain JSON. */
export interface SchemaRules {
  /** By table: lists of columns, of which no two records can have all values equal. Records with a null in one of them can repeat. */
  readonly uniqueTogether?: Readonly<Record<string, readonly (readonly string[])[]>>
  /** By a name of the application: whose records are found, exported and forgotten together. Source: docs/subjects.md. */
  readonly subjects?: Readonly<Record<string, SubjectDefinition>>
  /** By `table` or `table.column`: how long records or values are kept. Source: docs/retention.md. */
  readonly retention?: RetentionRules
}

/** A name of a column of a table. */
type ColumnIn<S, T extends keyof S> = keyof S[T] & string

/** Names of columns with their tables. */
type Dotted<S> = { readonly [T in keyof S & string]: `${T}.${ColumnIn<S, T>}` }[keyof S & string]

/** What can be unique together in a schema, by table. */
export type TogetherIn<S extends SchemaDefinition> = {
  readonly [T in keyof S & string]?: readonly (readonly ColumnIn<S, T>[])[]
}

/** The rules that a schema can have: its tables and columns only. */
export interface RulesFor<S extends SchemaDefinition, U extends TogetherIn<S> = TogetherIn<S>> {
  readonly uniqueTogether?: U & { readonly [Unknown in Exclude<keyof U, keyof S>]: never }
  readonly subjects?: Readonly<Record<string, SubjectDefinition<S>>>
  readonly retention?: { readonly [Name in (keyof S & string) | Dotted<S>]?: RetentionDefinition }
}

/** Most columns that a key has. */
export const MAX_KEY_COLUMNS = 8

/** The shape of the rules. The file of each rule checks what it says of the tables. */
const name = z.string().min(1).max(64)
const relationShape = z.union([
  z.strictObject({ table: name, column: name, references: name }),
  z.strictObject({ table: name, column: name, equals: z.string().min(3).max(129) }),
])
export const rulesShape = z.strictObject({
  uniqueTogether: z.record(name, z.array(z.array(name).min(2).max(MAX_KEY_COLUMNS)).max(16)).optional(),
  subjects: z
    .record(
      name,
      z.strictObject({ table: name, relations: z.array(relationShape).max(64).optional(), ownKeys: z.boolean().optional() }),
    )
    .optional(),
  retention: z
    .record(
      z.string().min(1).max(129),
      z.strictObject({ expiresAfter: z.string().max(32), from: name.optional(), becomes: z.literal('null').optional() }),
    )
    .optional(),
})
