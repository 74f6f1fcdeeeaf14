/** Sums and means of FLOAT are the same on every storage, of plain and sealed columns, in any order, and whatever else the query names. */
import { expect, it } from 'vitest'
import { localKeys } from '../../src/adapters/keys/local-keys.ts'
import { column, createVault, defineSchema } from '../../src/index.ts'
import { seededRandom } from '../support/random/seeded-random.ts'
import { onEachStorage } from '../support/storages/engines.ts'
import { OWNER, TEST_SECRET } from '../support/vaults/test-vault.ts'

const schema = defineSchema({
  readings: {
    plain: column.float({ encrypted: false }),
    indexed: column.float({ encrypted: false, index: true }),
    sealed: column.float(),
    whole: column.integer({ encrypted: false }),
  },
})

/** Doubles of very different sizes that nearly cancel each other: every order of adding them rounds otherwise. */
function valuesOf(seed: string): number[] {
  const random = seededRandom(seed)
  const values = Array.from({ length: 150 }, () => (random() - 0.5) * 10 ** Math.floor(random() * 30))
  return [...values, ...values.map((value) => -value * (1 - 2 ** -52)), 0.1, 1e308, -1e308]
}

/** The sum as a fraction of 2 ** 1074, by the decimal expansion of each double. */
function exactSum(values: readonly number[]): number {
  const units = values.reduce((sum, value) => {
    let unit = value
    let exponent = 0
    for (; !Number.isInteger(unit); exponent++) unit *= 2
    return sum + (BigInt(unit) << BigInt(200 - exponent))
  }, 0n)
  return Number(units) / 2 ** 200
}

onEachStorage('sums of FLOAT', (engine) => {
  it('are exact, and rounded once', async () => {
    const values = valuesOf('exact sums')
    const expected = exactSum(values)
    expect(values.reduce((sum, value) => sum + value, 0)).not.toBe(expected)
    for (const ordered of [values, values.toSorted((left, right) => left - right)]) {
      const place = await engine.fresh()
      const vault = await createVault({ id: 'v1', schema, storage: place.open(), keys: localKeys({ key: TEST_SECRET }) })
      const session = vault.as(OWNER)
      await session.insert(
        'readings',
        ordered.map((value, at) => ({ fields: { plain: value, indexed: value, sealed: value, whole: at } })),
      )
      const ask = async (list: string, where = '') =>
        Object.values((await session.query(`SELECT ${list} FROM readings ${where}`)).records[0]?.fields ?? {})
      const mean = (await ask('AVG(sealed)'))[0]
      for (const name of ['plain', 'indexed', 'sealed']) {
        expect(await ask(`SUM(${name})`)).toEqual([expected])
        expect(await ask(`SUM(${name}), COUNT(*), MAX(whole), AVG(${name})`)).toEqual([
          expected,
          values.length,
          values.length - 1,
          mean,
        ])
        expect(await ask(`AVG(${name}), SUM(sealed)`, 'WHERE whole > -1 AND NOT sealed = 0.25')).toEqual([mean, expected])
      }
      await vault.close()
    }
  })
})
