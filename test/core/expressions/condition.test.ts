/** Tests that taking conditions apart and combining them keeps their meaning. */
import { expect, it } from 'vitest'
import {
  allOf,
  anyOf,
  type Condition,
  columnsOf,
  negate,
  sourcesOf,
  splitConjuncts,
  type Truth,
  truthOf,
} from '../../../src/core/expressions/condition.ts'
import { compileCondition } from '../../../src/core/expressions/evaluate-condition.ts'
import { columnsKept, resolvedCondition, rowOf, tableIn } from './sample-table.ts'

const table = tableIn({ t: columnsKept(() => ({})) }, 't')

/** Conditions that are constant and conditions that are not, with the truth of each in the one row of these tests. */
const PARTS: readonly (readonly [Condition, Truth])[] = [
  [truthOf(true), true],
  [truthOf(false), false],
  [truthOf(undefined), undefined],
  [resolvedCondition(table, 'b = TRUE'), true],
  [resolvedCondition(table, 'b = FALSE'), false],
  [resolvedCondition(table, 'b2 = TRUE'), undefined],
]
const ROW = rowOf({ b: true, b2: null })

/** Every combination of three of them. */
const TRIPLES = PARTS.flatMap((one) => PARTS.flatMap((two) => PARTS.map((three) => [one, two, three] as const)))

/** The expected truth: the deciding constant anywhere, otherwise unknown if one is unknown, otherwise the other constant. */
function decidedBy(deciding: boolean, truths: readonly Truth[]): Truth {
  if (truths.includes(deciding)) return deciding
  return truths.includes(undefined) ? undefined : !deciding
}

const inRow = (condition: Condition): Truth => compileCondition(condition)(ROW)

it('AND and OR of any three conditions follow three-valued logic, constant or not', () => {
  for (const [[one, first], [two, second], [three, third]] of TRIPLES) {
    expect(inRow(allOf([one, allOf([two, three])]))).toBe(decidedBy(false, [first, second, third]))
    expect(inRow(anyOf([one, anyOf([two, three])]))).toBe(decidedBy(true, [first, second, third]))
  }
})

it('NOT swaps true and false, also of AND and OR', () => {
  expect(PARTS.map(([part]) => inRow(negate(part)))).toEqual([false, true, undefined, false, true, undefined])
  for (const [[one], [two], [three]] of TRIPLES) {
    const denied = negate(allOf([negate(one), anyOf([two, three])]))
    expect(inRow(denied)).toBe(inRow(anyOf([one, allOf([negate(two), negate(three)])])))
  }
})

it('AND of nothing is true and OR of nothing false', () => {
  expect(allOf([])).toEqual(truthOf(true))
  expect(anyOf([])).toEqual(truthOf(false))
})

it('columnsOf returns each column of a condition once', () => {
  const condition = resolvedCondition(table, "s = s2 AND (s LIKE 'a' OR NOT i IS NULL) AND j ? 'a' AND svc_id > s AND 1 < i")
  expect(columnsOf(condition).map(({ column }) => column?.name)).toEqual(['s', 's2', 'i', 'j', undefined])
})

it('columns of different sources are different columns', () => {
  const ref = (source: number) => ({ kind: 'cell', ref: { source, column: table.byName.get('s') } }) as const
  const condition: Condition = { kind: 'compare', operator: '=', left: ref(0), right: ref(2) }
  expect(columnsOf(condition)).toHaveLength(2)
  expect(sourcesOf(allOf([condition, resolvedCondition(table, 'i = 1')]))).toEqual(new Set([0, 2]))
  expect(sourcesOf(truthOf(true))).toEqual(new Set())
})

it('splitConjuncts returns the parts that must all be true', () => {
  const [one, two, three] = [
    resolvedCondition(table, 'i = 1'),
    resolvedCondition(table, 'i = 2 OR i = 3'),
    resolvedCondition(table, 'b = TRUE'),
  ]
  expect(splitConjuncts({ kind: 'and', conditions: [one, { kind: 'and', conditions: [two, three] }] })).toEqual([one, two, three])
  expect(splitConjuncts(two)).toEqual([two])
  expect(splitConjuncts(truthOf(true))).toEqual([])
  expect(splitConjuncts(truthOf(undefined))).toEqual([truthOf(undefined)])
})
