/** Random conditions whose terms fit each other. */
import type { ColumnTypeName } from '../../../src/core/values/column-type.ts'
import type { Luck } from '../random/draws.ts'
import { below, chance, pick } from '../random/draws.ts'
import type { World } from './fixture.ts'
import type { ColumnTerm, Predicate, Source, Term } from './query-tree.ts'
import { columnsOf, isCompared } from './query-tree.ts'

const OPERATORS = ['=', '=', '<', '>'] as const
const DEPTH = 3

/** What a condition is drawn about. */
export interface Subject {
  readonly world: World
  readonly sources: readonly Source[]
  /** Connectives within connectives, 3 unless said. */
  readonly depth?: number
}

/** Draws a condition. */
export function drawPredicate(luck: Luck, { world, sources, depth = DEPTH }: Subject): Predicate {
  return draw(luck, { world, columns: sources.flatMap(columnsOf) }, depth)
}

interface Scene {
  readonly world: World
  readonly columns: readonly ColumnTerm[]
}

function draw(luck: Luck, scene: Scene, depth: number): Predicate {
  if (depth === 0 || chance(luck, 0.45)) return drawSimple(luck, scene)
  if (chance(luck, 0.25)) return { kind: 'not', operand: draw(luck, scene, depth - 1) }
  const operands = Array.from({ length: 2 + below(luck, 2) }, () => draw(luck, scene, depth - 1))
  return { kind: pick(luck, ['and', 'or'] as const), operands }
}

function drawSimple(luck: Luck, scene: Scene): Predicate {
  const part = luck()
  const json = scene.columns.filter(({ column }) => column.type === 'JSON' && column.definition.encrypted !== false)
  if (part < 0.03) return { kind: 'truth', truth: pick(luck, [true, false, undefined]) }
  if (part < 0.13) return { kind: 'isNull', isNegated: chance(luck, 0.5), term: pick(luck, scene.columns) }
  if (part < 0.2 && json.length > 0)
    return { kind: 'hasKey', term: pick(luck, json), key: pick(luck, ['a', 'A', 'b', 'é', 'zz', 'a b']) }
  if (part < 0.4) return drawLike(luck, scene) ?? drawCompare(luck, scene)
  return drawCompare(luck, scene)
}

function drawCompare(luck: Luck, scene: Scene): Predicate {
  const operator = pick(luck, OPERATORS)
  if (chance(luck, 0.03)) return { kind: 'compare', operator, ...literals(luck, scene.world) }
  const compared = scene.columns.filter(({ column }) => isCompared(column.type))
  if (compared.length === 0) return { kind: 'isNull', isNegated: chance(luck, 0.5), term: pick(luck, scene.columns) }
  const one = pick(luck, compared)
  const other = drawOther(luck, scene, one)
  return chance(luck, 0.7)
    ? { kind: 'compare', operator, left: one, right: other }
    : { kind: 'compare', operator, left: other, right: one }
}

function literals(luck: Luck, { pools }: World): { readonly left: Term; readonly right: Term } {
  if (chance(luck, 0.5)) return { left: drawNumber(luck, pools, 'INTEGER'), right: drawNumber(luck, pools, 'FLOAT') }
  return { left: value('STRING', pick(luck, pools.STRING)), right: value('STRING', pick(luck, pools.STRING)) }
}

/** What stands beside a column: another column, null, or a value of its pool. */
function drawOther(luck: Luck, { world, columns }: Scene, { column }: ColumnTerm): Term {
  const isNumber = (type: ColumnTypeName): boolean => type === 'INTEGER' || type === 'FLOAT'
  if (chance(luck, 0.25)) {
    const fitting = columns.filter(({ column: { type } }) => type === column.type || (isNumber(type) && isNumber(column.type)))
    return pick(luck, fitting)
  }
  if (chance(luck, 0.04)) return { kind: 'null' }
  if (isNumber(column.type) && chance(luck, 0.75)) return drawNumber(luck, world.pools, column.type)
  return value(column.type, pick(luck, world.pools[column.type]))
}

function value(type: ColumnTypeName, of: World['pools'][ColumnTypeName][number]): Term {
  return { kind: 'value', type, value: of }
}

/** A number in one of the ways numbers are written, in the pool or beside it. */
function drawNumber(luck: Luck, pools: World['pools'], type: ColumnTypeName): Term {
  if (chance(luck, 0.15))
    return { kind: 'number', text: pick(luck, ['.5', '1e2', '1.0', '-2.50', '4.2e1', '-0', '0.0', '1e30', '-1E3', '2.']) }
  return { kind: 'number', text: String(pick(luck, pools[type])).replace('e+', 'e') }
}

function drawLike(luck: Luck, { world, columns }: Scene): Predicate | undefined {
  const texts = columns.filter(({ column }) => column.type === 'STRING')
  if (texts.length === 0 || world.hasNul) return undefined
  const like = { kind: 'like', ignoresCase: chance(luck, 0.35), isNegated: chance(luck, 0.3) } as const
  // A text of a world with backslashes is no pattern: it may end in the middle of an escape.
  if (!world.hasBackslash && chance(luck, 0.12)) {
    const left = chance(luck, 0.5) ? pick(luck, texts) : value('STRING', pick(luck, world.pools.STRING))
    return { ...like, left, right: pick(luck, texts) }
  }
  return { ...like, left: pick(luck, texts), right: value('STRING', drawPattern(luck, world)) }
}

/** A pattern made of a text of the world: pieces taken out for wildcards, case changed, signs escaped. */
function drawPattern(luck: Luck, world: World): string {
  const characters = [...String(pick(luck, world.pools.STRING))]
  const steps = characters.map((character) => {
    const part = luck()
    if (part < 0.15) return '_'
    if (part < 0.25) return '%'
    if (character === '\\' || part > 0.95) return `\\${character}`
    if (character === '%' || character === '_') return part < 0.8 ? `\\${character}` : character
    if (part > 0.35) return character
    return chance(luck, 0.5) ? character.toUpperCase() : character.toLowerCase()
  })
  return `${chance(luck, 0.3) ? '%' : ''}${steps.join('')}${chance(luck, 0.3) ? '%' : ''}`
}
