/** Random roles for the tables of the leak checks, and callers with some of them. */
import { ACTIONS, type Action, type StatementDefinition } from '../../../src/core/policy/statement.ts'
import type { Caller } from '../../../src/index.ts'
import type { LeakTable } from '../leaks/schemas.ts'
import type { SeededRandom } from '../random/seeded-random.ts'

/** The columns that conditions test. */
export interface AskedRow {
  readonly region: unknown
  readonly grade: unknown
}

/** The context of a caller, as conditions read it. */
export type CallerContext = Readonly<Record<string, unknown>>

/** Conditions of statements, each with its meaning written by hand; undefined means unknown. */
export const CONDITIONS: Readonly<Record<string, (row: AskedRow, context: CallerContext) => boolean | undefined>> = {
  "region = 'north'": ({ region }) => (region === null ? undefined : region === 'north'),
  "NOT region = 'south'": ({ region }) => (region === null ? undefined : region !== 'south'),
  'region = ctx.home': ({ region }, { home }) => (region === null || home === undefined ? undefined : region === home),
  'grade > 4': ({ grade }) => compared(grade, (number) => number > 4),
  'grade IS NULL': ({ grade }) => grade === null,
  "region = 'east' OR grade < 3": ({ region, grade }) => {
    const sides = [region === null ? undefined : region === 'east', compared(grade, (number) => number < 3)]
    return sides.includes(true) ? true : sides.includes(undefined) ? undefined : false
  },
  'grade = ctx.missing': () => undefined,
}

/** Compares an integer as an answer writes it: a number, or a text of digits outside the safe range. Undefined for NULL and for no integer. */
function compared(grade: unknown, compare: (number: bigint) => boolean): boolean | undefined {
  const isInteger = typeof grade === 'number' || (typeof grade === 'string' && /^-?[0-9]+$/.test(grade))
  return isInteger ? compare(BigInt(grade)) : undefined
}

/** Roles by name, in typed form. */
export type RandomPolicy = Readonly<Record<string, readonly StatementDefinition[]>>

/** A policy of three roles. */
export function randomPolicy(random: SeededRandom, tables: readonly LeakTable[]): RandomPolicy {
  const roles = ['clerk', 'agent', 'robot']
  return Object.fromEntries(
    roles.map((role) => {
      const statements = Array.from({ length: 2 + random.below(4) }, () => randomStatement(random, tables))
      return [role, random.chance(0.2) ? [...statements, AUDITOR] : statements]
    }),
  )
}

/** The statement as text. */
export function textOf({ effect, actions, on, ...rest }: StatementDefinition): string {
  const level = 'redaction' in rest && rest.redaction !== undefined ? ` WITH REDACTION = ${rest.redaction}` : ''
  return `${effect} ${actions.join(', ')} ON ${on.join(', ')}${level}${rest.where === undefined ? '' : ` WHERE ${rest.where}`}`
}

/** A caller with one or two roles, sometimes with the role that reads the audit trail. */
export function randomCaller(random: SeededRandom): Caller {
  const roles = random.sample(['clerk', 'agent', 'robot'], 1 + random.below(2))
  const home = random.pick(['north', 'south', 'east', undefined])
  return {
    actor: 'limited@acme.example',
    actorType: random.pick(['USER', 'SERVICE_ACCOUNT']),
    roles,
    ...(home === undefined ? {} : { context: { home } }),
  }
}

/** A role that may only read the audit trail. */
const AUDITOR: StatementDefinition = { effect: 'ALLOW', actions: ['AUDIT'], on: ['*'] }

const READING: readonly Action[] = ['READ', 'READ', 'READ', 'DETOKENIZATION', 'SEARCH', 'TOKENIZATION']
const WRITING: readonly Action[] = ['CREATE', 'UPDATE', 'DELETE']

function randomStatement(random: SeededRandom, tables: readonly LeakTable[]): StatementDefinition {
  const actions = randomActions(random)
  const isWhole = random.chance(0.1)
  const on = isWhole ? ['*'] : randomPlaces(random, random.pick(tables))
  const where = !isWhole && random.chance(0.45) ? { where: random.pick(Object.keys(CONDITIONS)) } : {}
  const stated = { actions: isWhole ? actions : withoutAudit(actions), on, ...where }
  if (random.chance(0.2)) return { effect: 'DENY', ...stated }
  const reads = stated.actions.some((action) => action === 'READ' || action === 'ALL')
  const redaction = random.pick(['PLAIN_TEXT', 'PLAIN_TEXT', 'MASKED', 'REDACTED', 'DEFAULT', undefined] as const)
  return { effect: 'ALLOW', ...stated, ...(reads && redaction !== undefined ? { redaction } : {}) }
}

/** The audit trail is granted on everything or not at all. */
function withoutAudit(actions: StatementDefinition['actions']): StatementDefinition['actions'] {
  const kept = actions.filter((action) => action !== 'AUDIT')
  return kept.includes('ALL') ? ['ALL'] : kept.flatMap((action) => (action === 'ALL' ? [] : [action]))
}

function randomActions(random: SeededRandom): StatementDefinition['actions'] {
  if (random.chance(0.1)) return ['ALL']
  const drawn: Action[] = [random.pick(random.chance(0.6) ? READING : WRITING)]
  drawn.push(
    ...random.sample(
      ACTIONS.filter((action) => action !== 'AUDIT' || random.chance(0.3)),
      1 + random.below(3),
    ),
  )
  const distinct = [...new Set(drawn)]
  return distinct.every((action) => action === 'AUDIT') ? ['READ', 'AUDIT'] : distinct
}

function randomPlaces(random: SeededRandom, table: LeakTable): string[] {
  if (random.chance(0.4)) return [`${table.name}.*`]
  const names = random.sample(table.columns, 1 + random.below(table.columns.length)).map((column) => column.name)
  return names.map((name) => `${table.name}.${name}`)
}
