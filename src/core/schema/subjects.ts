/** The people that records are about: the table of a subject, and how other tables refer to it. */
import type { SchemaDefinition } from './column.ts'

/** How a table refers to a subject, or to a table that belongs to it. */
export type SubjectRelation<S extends SchemaDefinition = SchemaDefinition> = {
  readonly [T in keyof S & string]: { readonly table: T; readonly column: keyof S[T] & string } & (
    | {
        /** The column holds the id of a record of this table. */
        readonly references: keyof S & string
      }
    | {
        /** The column holds the same value as this one, `table.column`, of one column group. */
        readonly equals: string
      }
  )
}[keyof S & string]

/** One kind of subject. */
export interface SubjectDefinition<S extends SchemaDefinition = SchemaDefinition> {
  /** The table with one record for each subject. */
  readonly table: keyof S & string
  /** The other tables with records of a subject. */
  readonly relations?: readonly SubjectRelation<S>[]
  /** Whether the records of each subject are sealed under a key of its own. Default false. */
  readonly ownKeys?: boolean
}
