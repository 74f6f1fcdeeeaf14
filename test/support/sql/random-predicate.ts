/** Random conditions whose terms fit each other. */
import type { ColumnTypeName } from '../../../src/core/values/column-type.ts'
import type { SeededRandom } from '../random/seeded-random.ts'
import type { Fixture } from './fixture.ts'
import { type ColumnTerm, columnsOf, isCompared, type Predicate, type Source, type Term } from './query-tree.ts'

const OPERATORS = ['=', '=', '=', '<', '>', '<=', '>=', '<>', '!='] as const
const DEPTH = 3

/** What a condition may use. */
export interface Subject {
  readonly fixture: Fixture
  readonly sources: readonly Source[]
  /** Nesting of connectives. Default 3. */
  readonly depth?: number
}

/** Draws a condition. */
export function drawPredicate(random: SeededRandom, { fixture, sources, depth = DEPTH }: Subject): Predicate {
  return draw(random, { fixture, columns: sources.flatMap(columnsOf) }, depth)
}

interface Scene {
  readonly fixture: Fixture
  readonly columns: readonly ColumnTerm[]
}

function draw(random: SeededRandom, scene: Scene, depth: number): Predicate {
  if (depth === 0 || random.chance(0.45)) return drawSimple(random, scene)
  if (random.chance(0.25)) return { kind: 'not', operand: draw(random, scene, depth - 1) }
  const operands = Array.from({ length: 2 + random.below(2) }, () => draw(random, scene, depth - 1))
  return { kind: random.pick(['and', 'or'] as const), operands }
}

function drawSimple(random: SeededRandom, scene: Scene): Predicate {
  const part = random()
  const json = scene.columns.filter(({ column }) => column.type === 'JSON' && column.definition.encrypted !== false)
  if (part < 0.03) return { kind: 'truth', truth: random.pick([true, false, undefined]) }
  if (part < 0.13) return { kind: 'isNull', isNegated: random.chance(0.5), term: random.pick(scene.columns) }
  if (part < 0.2 && json.length > 0)
    return { kind: 'hasKey', term: random.pick(json), key: random.pick(['a', 'A', 'b', 'é', 'zz', 'a b']) }
  if (part < 0.4) return drawLike(random, scene) ?? drawCompare(random, scene)
  return drawCompare(random, scene)
}

function drawCompare(random: SeededRandom, scene: Scene): Predicate {
  const operator = random.pick(OPERATORS)
  if (random.chance(0.03)) return { kind: 'compare', operator, ...literals(random, scene.fixture) }
  const compared = scene.columns.filter(({ column }) => isCompared(column.type))
  if (compared.length === 0) return { kind: 'isNull', isNegated: random.chance(0.5), term: random.pick(scene.columns) }
  const one = random.pick(compared)
  if (random.chance(0.2)) return drawExtension(random, scene, one)
  const other = drawOther(random, scene, one)
  return random.chance(0.7)
    ? { kind: 'compare', operator, left: one, right: other }
    : { kind: 'compare', operator, left: other, right: one }
}

/** IN with a list, or BETWEEN. */
function drawExtension(random: SeededRandom, scene: Scene, left: ColumnTerm): Predicate {
  const kind = random.pick(['in', 'between'] as const)
  const isNegated = random.chance(0.4)
  const others = Array.from({ length: kind === 'in' ? 1 + random.below(4) : 2 }, () => drawOther(random, scene, left))
  // With null in its list, NOT IN is never true.
  if (isNegated && kind === 'in' && random.chance(0.3)) others.push({ kind: 'null' })
  return { kind, isNegated, left, others }
}

function literals(random: SeededRandom, { pools }: Fixture): { readonly left: Term; readonly right: Term } {
  if (random.chance(0.5)) return { left: drawNumber(random, pools, 'INTEGER'), right: drawNumber(random, pools, 'FLOAT') }
  return { left: value('STRING', random.pick(pools.STRING)), right: value('STRING', random.pick(pools.STRING)) }
}

/** The other operand of a column: another column, null, or a value of its pool. */
function drawOther(random: SeededRandom, { fixture, columns }: Scene, { column }: ColumnTerm): Term {
  const isNumber = (type: ColumnTypeName): boolean => type === 'INTEGER' || type === 'FLOAT' || type === 'DECIMAL'
  if (random.chance(0.25)) {
    const fitting = columns.filter(({ column: { type } }) => type === column.type || (isNumber(type) && isNumber(column.type)))
    return random.pick(fitting)
  }
  if (random.chance(0.04)) return { kind: 'null' }
  if (isNumber(column.type) && random.chance(0.75)) return drawNumber(random, fixture.pools, column.type)
  return value(column.type, random.pick(fixture.pools[column.type]))
}

function value(type: ColumnTypeName, of: Fixture['pools'][ColumnTypeName][number]): Term {
  return { kind: 'value', type, value: of }
}

/** A number of the pool or near it, in a random spelling. */
function drawNumber(random: SeededRandom, pools: Fixture['pools'], type: ColumnTypeName): Term {
  if (random.chance(0.15))
    return { kind: 'number', text: random.pick(['.5', '1e2', '1.0', '-2.50', '4.2e1', '-0', '0.0', '1e30', '-1E3', '2.']) }
  return { kind: 'number', text: String(random.pick(pools[type])).replace('e+', 'e') }
}

function drawLike(random: SeededRandom, { fixture, columns }: Scene): Predicate | undefined {
  const texts = columns.filter(({ column }) => column.type === 'STRING')
  if (texts.length === 0 || fixture.hasNul) return undefined
  const like = { kind: 'like', ignoresCase: random.chance(0.35), isNegated: random.chance(0.3) } as const
  // With backslashes, a text of the fixture may not be a valid pattern: it may end within an escape.
  if (!fixture.hasBackslash && random.chance(0.12)) {
    const left = random.chance(0.5) ? random.pick(texts) : value('STRING', random.pick(fixture.pools.STRING))
    return { ...like, left, right: random.pick(texts) }
  }
  return { ...like, left: random.pick(texts), right: value('STRING', drawPattern(random, fixture)) }
}

/** A pattern made from a text of the fixture: some parts are wildcards, changed in case, or escaped. */
function drawPattern(random: SeededRandom, fixture: Fixture): string {
  const characters = [...String(random.pick(fixture.pools.STRING))]
  const steps = characters.map((character) => {
    const part = random()
    if (part < 0.15) return '_'
    if (part < 0.25) return '%'
    if (character === '\\' || part > 0.95) return `\\${character}`
    if (character === '%' || character === '_') return part < 0.8 ? `\\${character}` : character
    if (part > 0.35) return character
    return random.chance(0.5) ? character.toUpperCase() : character.toLowerCase()
  })
  return `${random.chance(0.3) ? '%' : ''}${steps.join('')}${random.chance(0.3) ? '%' : ''}`
}
