/** LIKE over one long text: it is matched in steps, between which the event loop turns and time limit and signal are checked. */
import { expect, it } from 'vitest'
import { memoryStorage } from '../../../src/adapters/memory/memory-storage.ts'
import { createMatcher } from '../../../src/core/expressions/like.ts'
import { column } from '../../../src/index.ts'
import { seededRandom } from '../../support/random/seeded-random.ts'
import { openLoose } from '../../support/vaults/open-untyped.ts'
import { OWNER } from '../../support/vaults/test-vault.ts'

const LENGTH = 4_000_000
/** Steps that a text of this length takes at least, at 65,536 units each. */
const STEPS = 60

async function openLong(text: string) {
  const { vault } = await openLoose(memoryStorage(), { notes: { text: column.string({}) } }, { audit: 'off' })
  await vault.as(OWNER).insert('notes', [{ fields: { text } }])
  return vault
}

async function turnsDuring(work: () => Promise<unknown>): Promise<number> {
  let turns = 0
  let isRunning = true
  const counting = (async () => {
    while (isRunning) {
      await new Promise((resolve) => setImmediate(resolve))
      turns++
    }
  })()
  await work()
  isRunning = false
  await counting
  return turns
}

it('finds what it finds at once, and lets the event loop turn at every step', async () => {
  const vault = await openLong(`${'a'.repeat(LENGTH)}bxc${'a'.repeat(10)}`)
  for (const [pattern, count] of [
    ['%b_c%', 1],
    ['%b_d%', 0],
    ['a%B_C%a', 0],
  ] as const) {
    const sql = `select count(*) from notes where text like '${pattern}'`
    let records: unknown
    const turns = await turnsDuring(async () => {
      records = (await vault.as(OWNER).query(sql)).records
    })
    expect(Object.values((records as { fields: object }[])[0]?.fields ?? {})).toEqual([count])
    expect(turns).toBeGreaterThanOrEqual(STEPS)
  }
  await vault.close()
})

it('obeys its signal and its time limit', async () => {
  const vault = await openLong('a'.repeat(LENGTH))
  const sql = "select count(*) from notes where text ilike '%b_c%'"
  const controller = new AbortController()
  const query = vault.as(OWNER).query(sql, { signal: controller.signal })
  setImmediate(() => setImmediate(() => controller.abort()))
  await expect(query).rejects.toMatchObject({ code: 'cancelled' })
  await vault.close()
})

it('matches in steps as at once, also where a step would divide a character', () => {
  const random = seededRandom('long texts')
  const letters = ['a', 'b', '\u{1f600}', 'é']
  for (let round = 0; round < 40; round++) {
    const text = Array.from({ length: 50_000 + random.below(100_000) }, () => random.pick(letters)).join('')
    const at = random.below(text.length - 40)
    const piece = Array.from(text.slice(at, at + 12)).map((letter) => (random.chance(0.3) ? '_' : letter))
    const middle = piece.join('').replace(/[\ud800-\udbff](?![\udc00-\udfff])|(?<![\ud800-\udbff])[\udc00-\udfff]/g, '_')
    for (const pattern of [`%${middle}%`, `%${middle}`, `${middle}%`, `%${middle}%b_%a%`, `%${middle}z%`, '%_', middle]) {
      for (const ignoresCase of [true, false]) {
        const matcher = createMatcher(pattern, ignoresCase)
        const steps = matcher.inSteps(text)
        let step = steps.next()
        while (step.done !== true) step = steps.next()
        expect(step.value, `round ${round} ${JSON.stringify(pattern)}`).toBe(matcher(text))
      }
    }
  }
})
