/** The run of a law: its figure, its time, and its failures. */
import { expect, it } from 'vitest'
import type { Law, LawScene } from './law.ts'
import { runLaw } from './run-law.ts'

const servers = { postgresUrl: '' }

function lawOf(check: LawScene['check'], close?: () => Promise<void>): Law {
  const scene = close === undefined ? { check } : { check, close }
  return { name: 'sample', statement: 'It holds', unit: 'cases', figures: { test: 1, soak: 1 }, weight: 1, open: () => scene }
}

it('runs cases in order until the figure is reached, each with its own draws', async () => {
  const cases: [number, string, number][] = []
  const law = lawOf(({ number, seed, random }) => {
    cases.push([number, seed, random()])
    return 3
  })
  expect(await runLaw(law, { servers, seed: 's', figure: 7, maxFailures: 1 })).toEqual({ figure: 9, failures: [] })
  expect(cases.map(([number, seed]) => `${number} ${seed}`)).toEqual(['0 s 0', '1 s 1', '2 s 2'])
  expect(new Set(cases.map(([, , draw]) => draw)).size).toBe(3)
  const all = [...cases]
  await runLaw(law, { servers, seed: 's', figure: 1, maxFailures: 1, firstCase: 2 })
  expect(cases.at(-1)).toEqual(all[2])
})

it('records a failed case and continues, up to the number of failures', async () => {
  const law = lawOf(({ number }) => {
    if (number % 2 === 1) throw new Error(`case ${number} is wrong`)
    return 1
  })
  const { figure, failures } = await runLaw(law, { servers, seed: 's', figure: 100, maxFailures: 3 })
  expect(figure).toBe(3)
  expect(failures.map(({ number, text }) => [number, text.split('\n')[0]])).toEqual([
    [1, 'Error: case 1 is wrong'],
    [3, 'Error: case 3 is wrong'],
    [5, 'Error: case 5 is wrong'],
  ])
})

it('shows the cause of a failure', async () => {
  const law = lawOf(() => {
    throw new Error('a property fails', { cause: new Error('1 is not 2') })
  })
  const { failures } = await runLaw(law, { servers, seed: 's', figure: 1, maxFailures: 1 })
  expect(failures[0]?.text).toMatch(/a property fails[\s\S]*Cause: Error: 1 is not 2/)
})

it('ends when the time is over, and closes', async () => {
  let left = 4
  let closed = 0
  const law = lawOf(
    () => 1,
    async () => void closed++,
  )
  const result = await runLaw(law, { servers, seed: 's', figure: 100, maxFailures: 1, hasTime: () => left-- > 0 })
  expect(result).toEqual({ figure: 4, failures: [] })
  expect(closed).toBe(1)
})

it('fails if no case has anything to check', async () => {
  const { figure, failures } = await runLaw(
    lawOf(() => 0),
    { servers, seed: 's', figure: 1, maxFailures: 1 },
  )
  expect(figure).toBe(0)
  expect(failures).toMatchObject([{ text: expect.stringContaining('nothing to check') }])
})
