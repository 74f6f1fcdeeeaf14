/** Policy statements: the types that authors write, the parsed form and its actions, the roles that exist in every vault, and errors that name a statement. */
import { print, type Sentence, VaultError } from '../errors.ts'
import type { Expression, Placed } from '../expressions/ast.ts'
import { LANGUAGE_ERROR_CODES, type LanguageError, lineAndColumn } from '../expressions/language-error.ts'
import type { Redaction } from '../redaction.ts'
import type { SchemaDefinition } from '../schema/column.ts'
import type { ColumnName, TableName } from '../schema/infer.ts'

/** DENY wins over any ALLOW of any of the caller's roles. */
export type Effect = 'ALLOW' | 'DENY'

/** Members of every statement. */
export interface StatementMembers<T extends string> {
  /** Actions, or ALL alone. */
  readonly actions: readonly Action[] | readonly ['ALL']
  /** `*` for everything, `table.*`, or `table.column`. */
  readonly on: readonly T[]
  /**
   * The rows to which the statement applies: a condition of the query language on columns of the statement's one table and on `ctx.name`,
   * attributes of the caller's context. An ALLOW applies if it is true, a DENY unless it is false.
   */
  readonly where?: string
}

/** A statement that grants actions. */
export interface AllowStatement<T extends string = string> extends StatementMembers<T> {
  readonly effect: 'ALLOW'
  /** Highest level that READ shows. Default `DEFAULT`: each column's own. Only with the action READ or ALL. */
  readonly redaction?: Redaction
}

/** A statement that denies actions. Denying READ hides a column. */
export interface DenyStatement<T extends string = string> extends StatementMembers<T> {
  readonly effect: 'DENY'
}

/** A statement as an object. */
export type StatementDefinition<T extends string = string> = AllowStatement<T> | DenyStatement<T>

/**
 * Statements by role, each as an object or as text: `ALLOW READ ON persons.name, persons.ssn WITH REDACTION = MASKED WHERE
 * persons.country = 'SE'`. What no statement allows is denied.
 */
export type PolicyDefinition = Readonly<Record<string, readonly (string | StatementDefinition)[]>>

/** Every valid target of a statement for this schema. */
export type TargetIn<S extends SchemaDefinition> =
  string extends TableName<S> ? string : '*' | { [T in TableName<S>]: `${T}.*` | `${T}.${ColumnName<S[T]>}` }[TableName<S>]

/** A policy whose statement objects can only name tables and columns of the schema. `Role` are the names of its roles, if they are known. */
export type PolicyFor<S extends SchemaDefinition, Role extends string = string> = {
  readonly [Name in Role]: readonly (string | StatementDefinition<TargetIn<S>>)[]
}

/** The name of a role that exists in every vault. */
export type BuiltInRole = 'VAULT_OWNER' | 'VAULT_EDITOR' | 'VAULT_VIEWER'

/** Their statements. A policy cannot redefine these names. Source: docs/policy.md. */
export const BUILT_IN_ROLES = {
  VAULT_OWNER: [{ effect: 'ALLOW', actions: ['ALL'], on: ['*'], redaction: 'PLAIN_TEXT' }],
  VAULT_EDITOR: [
    {
      effect: 'ALLOW',
      actions: ['CREATE', 'READ', 'UPDATE', 'DELETE', 'TOKENIZATION', 'DETOKENIZATION', 'SEARCH'],
      on: ['*'],
    },
  ],
  VAULT_VIEWER: [{ effect: 'ALLOW', actions: ['READ'], on: ['*'] }],
} as const satisfies Readonly<Record<BuiltInRole, PolicyDefinition[string]>>

/** The location of a statement or of one of its members, for errors. */
export interface StatementLocation {
  readonly role: string
  /** Number of the statement in its role, from 1. */
  readonly position: number
  /** Member of a statement given as an object; undefined for the text form. */
  readonly member?: string
  /** The text in which line and column count; undefined for a whole member. */
  readonly text?: string
}

/** A parsed target: everything if `table` is undefined, the whole table if `column` is undefined. */
export interface Target extends Placed {
  readonly location: StatementLocation
  readonly table: string | undefined
  readonly column: string | undefined
}

/** A parsed statement. Its names are not resolved yet. */
export interface Statement {
  readonly location: StatementLocation
  /** The statement in one line, as `explain` prints it. */
  readonly text: string
  readonly effect: Effect
  /** ALL is expanded. */
  readonly actions: readonly Action[]
  /** True for the word ALL, which grants what later versions add too. */
  readonly isAll: boolean
  readonly targets: readonly Target[]
  readonly level: Redaction
  readonly where: Where | undefined
}

/** The parsed condition of a statement. */
export interface Where {
  readonly location: StatementLocation
  /** The text of the condition. */
  readonly text: string
  readonly expression: Expression
}

/** All actions of policy statements except ALL. Source: docs/policy.md. */
export const ACTIONS = ['CREATE', 'READ', 'UPDATE', 'DELETE', 'TOKENIZATION', 'DETOKENIZATION', 'SEARCH', 'AUDIT'] as const

/** One action. */
export type Action = (typeof ACTIONS)[number]

/** A set of actions, one bit each, so that testing a row takes one `&`. */
export type ActionSet = number

/** The set of each action alone. */
export const BITS = Object.fromEntries(ACTIONS.map((action, index) => [action, 1 << index])) as Readonly<
  Record<Action, ActionSet>
>

/** The set of these actions. */
export function actionSet(actions: readonly Action[]): ActionSet {
  return actions.reduce((set, action) => set | BITS[action], 0)
}

/** True for the name of an action. */
export function isAction(input: unknown): input is Action {
  return typeof input === 'string' && Object.hasOwn(BITS, input)
}

/** The error of a statement; to be thrown. `at` is an offset in the location's text, in UTF-16 units. */
export function policyError(location: StatementLocation, sentence: Sentence, at = 0): VaultError {
  const member = location.member === undefined ? '' : `, ${location.member}`
  const where = `statement ${location.position} of role ${printableRole(location.role)}${member}${lineOf(location, at)}`
  return new VaultError('invalid_request', `Invalid policy: ${where}: ${print(sentence)}`)
}

/** The error for a language error in a statement's text; to be thrown. */
export function refuseText(location: StatementLocation, { kind, sentence, at }: LanguageError): VaultError {
  const { message } = policyError(location, sentence, at)
  return new VaultError(LANGUAGE_ERROR_CODES[kind], message)
}

function lineOf({ text }: StatementLocation, at: number): string {
  if (text === undefined) return ''
  const { line, column } = lineAndColumn(text, at)
  return `, line ${line}, column ${column}`
}

/** A role name for an error: quoted if it is one word, otherwise only described, because it may be a value. */
export function printableRole(role: string): string {
  return /^[A-Za-z0-9_.:@/-]{1,128}$/.test(role) ? `"${role}"` : '(not a single word)'
}
