/** Policy statements: the types that authors write, the parsed form and its actions, the roles that exist in every vault, and errors that name a statement. */
import { type ErrorCode, type ErrorDetails, print, type Sentence, VaultError } from '../errors.ts'
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

/** Where a policy is wrong: in a statement, in a role as a whole or, without a role, as a whole. Line and column count from 1. */
export interface PolicyPlace {
  readonly role?: string
  /** Number of the statement in its role, from 1. */
  readonly position?: number
  readonly line?: number
  readonly column?: number
}

/** The error of a policy. Its message has the place, and the problem. */
export class PolicyError extends VaultError {
  /** Node prints the name of the class beside that of the error where they differ: callers know `VaultError` only. */
  static override get name(): string {
    return 'VaultError'
  }

  /** Private, because callers of a vault read the message. */
  readonly #problem: PolicyPlace & { readonly message: string }

  constructor(code: ErrorCode, where: string, problem: PolicyPlace & { readonly message: string }, details?: ErrorDetails) {
    super(code, `Invalid policy: ${where}${problem.message}`, details)
    this.#problem = problem
  }

  /** What is wrong, and where. */
  get problem(): PolicyPlace & { readonly message: string } {
    return this.#problem
  }
}

/** The error of a statement; to be thrown. `at` is an offset in the location's text, in UTF-16 units. */
export function policyError(
  { role, position, member, text }: StatementLocation,
  sentence: Sentence,
  at = 0,
  code: ErrorCode = 'invalid_request',
): PolicyError {
  const place = text === undefined ? undefined : lineAndColumn(text, at)
  const inText = place === undefined ? '' : `, line ${place.line}, column ${place.column}`
  const where = `statement ${position} of role ${printableRole(role)}${member === undefined ? '' : `, ${member}`}${inText}: `
  return new PolicyError(code, where, { role, position, ...place, message: print(sentence) })
}

/** The error for a language error in a statement's text; to be thrown. */
export function refuseText(location: StatementLocation, { kind, sentence, at }: LanguageError): PolicyError {
  return policyError(location, sentence, at, LANGUAGE_ERROR_CODES[kind])
}

/** A role name for an error: quoted if it is one word, otherwise only described, because it may be a value. */
export function printableRole(role: string): string {
  return /^[A-Za-z0-9_.:@/-]{1,128}$/.test(role) ? `"${role}"` : '(not a single word)'
}
