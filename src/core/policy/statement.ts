/** What a policy is made of: statements as an author writes them, and as the vault has read them. */
import type { Expression, Placed } from '../expressions/ast.ts'
import type { AskedLevel } from '../redaction/levels.ts'
import type { SchemaDefinition } from '../schema/column.ts'
import type { ColumnName, TableName } from '../schema/infer.ts'
import type { Action } from './actions.ts'

/** DENY wins over any ALLOW of any of the caller's roles. */
export type Effect = 'ALLOW' | 'DENY'

/** What every statement says. */
interface Common<Place extends string> {
  /** Actions, or ALL alone. */
  readonly actions: readonly Action[] | readonly ['ALL']
  /** `*` for everything, `table.*`, `table.column`. */
  readonly on: readonly Place[]
  /**
   * Rows the statement speaks of: a condition of the query language on columns of the statement's one table, and on `ctx.name`,
   * facts of the caller's context. An ALLOW counts where it is true, a DENY unless it is false.
   */
  readonly where?: string
}

/** A grant. */
export interface AllowStatement<Place extends string = string> extends Common<Place> {
  readonly effect: 'ALLOW'
  /** Highest level READ shows; DEFAULT, each column's own, unless said. Only where the actions hold READ, or are ALL. */
  readonly redaction?: AskedLevel
}

/** A refusal. Denying READ hides a column. */
export interface DenyStatement<Place extends string = string> extends Common<Place> {
  readonly effect: 'DENY'
}

/** A statement as a typed object. */
export type StatementDefinition<Place extends string = string> = AllowStatement<Place> | DenyStatement<Place>

/**
 * Statements by role, each as an object or as text: `ALLOW READ ON persons.name, persons.ssn WITH REDACTION = MASKED WHERE
 * persons.country = 'SE'`. What no statement allows is refused.
 */
export type PolicyDefinition = Readonly<Record<string, readonly (string | StatementDefinition)[]>>

/** Everything a statement for this schema can be about. */
export type PlaceIn<S extends SchemaDefinition> =
  string extends TableName<S> ? string : '*' | { [T in TableName<S>]: `${T}.*` | `${T}.${ColumnName<S[T]>}` }[TableName<S>]

/** A policy whose typed statements can only name tables and columns of the schema. */
export type PolicyFor<S extends SchemaDefinition> = Readonly<
  Record<string, readonly (string | StatementDefinition<PlaceIn<S>>)[]>
>

/** Where in a policy a piece of text stands, for an error to say. */
export interface Place {
  readonly role: string
  /** Number of the statement in its role, from 1. */
  readonly position: number
  /** Member of a typed statement; undefined for a statement in text form. */
  readonly member?: string
  /** Text that line and column count in; undefined where the whole member is meant. */
  readonly text?: string
}

/** What a statement is about, as it was read: without a table everything, without a column the whole table. */
export interface Target extends Placed {
  readonly place: Place
  readonly table: string | undefined
  readonly column: string | undefined
}

/** A statement as it was read; its names are not looked up yet. */
export interface Statement {
  readonly place: Place
  /** The statement in one line, as `explain` prints it. */
  readonly text: string
  readonly effect: Effect
  /** ALL written out. */
  readonly actions: readonly Action[]
  readonly targets: readonly Target[]
  readonly level: AskedLevel
  readonly where: Where | undefined
}

/** The condition of a statement as it was read. */
export interface Where {
  readonly place: Place
  /** The condition's own text. */
  readonly text: string
  readonly expression: Expression
}
