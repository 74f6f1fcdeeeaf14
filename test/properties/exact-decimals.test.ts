/** Decimal numbers equal a model of bigints on every storage, plain and sealed: sums, means, extremes, comparisons, equality, tokens and policies. */
import { expect, it } from 'vitest'
import { localKeys } from '../../src/adapters/keys/local-keys.ts'
import { nearestDouble } from '../../src/core/sql/exact-sum.ts'
import { column, createVault, defineSchema, type SchemaDefinition } from '../../src/index.ts'
import { type SeededRandom, seededRandom } from '../support/random/seeded-random.ts'
import { onEachStorage } from '../support/storages/engines.ts'
import { OWNER, TEST_SECRET } from '../support/vaults/test-vault.ts'

const SCALE = 3
const UNIT = 10n ** BigInt(SCALE)
const MAX = 10n ** 18n - 1n
const NAMES = ['plain', 'indexed', 'sealed', 'found', 'tokened'] as const

const schema = defineSchema({
  amounts: {
    plain: column.decimal({ scale: SCALE, encrypted: false }),
    indexed: column.decimal({ scale: SCALE, encrypted: false, index: true }),
    sealed: column.decimal({ scale: SCALE }),
    found: column.decimal({ scale: SCALE, searchable: true }),
    tokened: column.decimal({ scale: SCALE, token: 'deterministic' }),
    cents: column.decimal({ scale: 2, encrypted: false, index: true }),
    whole: column.integer({ encrypted: false }),
  },
  prices: { price: column.decimal({ scale: SCALE, unique: true, redaction: 'PLAIN_TEXT' }) },
})

/** A number of thousandths as text; `salt` says with how many of its zeros. */
function spelled(thousandths: bigint, salt: number): string {
  const digits = (thousandths < 0n ? -thousandths : thousandths).toString().padStart(SCALE + 1, '0')
  const text = `${thousandths < 0n ? '-' : ''}${digits.slice(0, -SCALE)}.${digits.slice(-SCALE)}`
  return salt % 3 === 0 ? text : salt % 3 === 1 ? `${text}0` : text.replace(/\.?0+$/, '')
}

/** Numbers with ties, of every size, that together pass 64 bits. */
function drawn(random: SeededRandom, count: number): bigint[] {
  const near = Array.from({ length: count }, () => BigInt(random.below(2001) - 1000) * (random.chance(0.5) ? 10n : 1n))
  const far = Array.from({ length: 12 }, () => MAX - BigInt(random.below(1000)))
  return [...near, ...far, MAX, -MAX, 0n, 1n, -1n, 9_007_199_254_740_993n]
}

type Ask = (sql: string, values?: readonly (string | bigint)[]) => Promise<readonly Readonly<Record<string, unknown>>[]>

/** Throws if an answer is not the model's. */
async function check(ask: Ask, model: readonly bigint[], bounds: readonly bigint[]): Promise<void> {
  const sum = model.reduce((total, value) => total + value, 0n)
  const least = model.reduce((one, other) => (one < other ? one : other))
  const most = model.reduce((one, other) => (one > other ? one : other))
  const mean = nearestDouble(sum, BigInt(model.length) * UNIT)
  for (const name of NAMES) {
    const [totals] = await ask(`SELECT SUM(${name}), AVG(${name}), MIN(${name}), MAX(${name}), COUNT(${name}) FROM amounts`)
    expect(Object.values(totals ?? {})).toEqual([spelled(sum, 0), mean, spelled(least, 0), spelled(most, 0), model.length])
    for (const [at, bound] of bounds.entries()) {
      const literal = spelled(bound, at)
      for (const [operator, holds] of [
        ['=', (value: bigint) => value === bound],
        ['<', (value: bigint) => value < bound],
        ['>', (value: bigint) => value > bound],
      ] as const) {
        const wanted = model.filter(holds).length
        for (const written of [literal, `'${literal}'`]) {
          const [counted] = await ask(`SELECT COUNT(*) FROM amounts WHERE ${name} ${operator} ${written}`)
          expect([name, operator, written, Object.values(counted ?? {})]).toEqual([name, operator, written, [wanted]])
        }
      }
    }
    // Between two numbers of the scale there is none.
    const [between] = await ask(`SELECT COUNT(*) FROM amounts WHERE ${name} > 0.0005 AND NOT ${name} > 0.0014`)
    expect(Object.values(between ?? {})).toEqual([model.filter((value) => value === 1n).length])
    const [none] = await ask(`SELECT COUNT(*) FROM amounts WHERE ${name} = 0.0005`)
    expect(Object.values(none ?? {})).toEqual([0])
  }
  // Beside other types numbers compare exactly, and a join finds equal ones.
  const even = model.filter((value) => value % 10n === 0n).length
  const [beside] = await ask('SELECT COUNT(*) FROM amounts WHERE sealed = cents AND plain = cents')
  expect(Object.values(beside ?? {})).toEqual([even])
  const [joined] = await ask('SELECT COUNT(*) FROM amounts a JOIN amounts b ON a.sealed = b.cents')
  const tens = model.filter((value) => value % 10n === 0n)
  expect(Object.values(joined ?? {})).toEqual([tens.reduce((n, ten) => n + model.filter((one) => one === ten).length, 0)])
  const [wholes] = await ask('SELECT COUNT(*) FROM amounts WHERE plain = whole')
  expect(Object.values(wholes ?? {})).toEqual([model.filter((value) => value % UNIT === 0n).length])
}

/** Wrong answers, as a vault that takes decimal numbers for doubles, or a sum for its trusted form, would give them. */
const FAULTS: Readonly<Record<string, (value: unknown) => unknown>> = {
  'a sum passes through a double': (value) =>
    typeof value === 'string' && value.length > 17 ? Number(value).toFixed(SCALE) : value,
  'a sum loses its point': (value) => (typeof value === 'string' ? value.replace('.', '') : value),
  'a digit of the scale is left out': (value) => (typeof value === 'string' ? value.slice(0, -1) : value),
  'a mean is of the trusted form': (value) => (typeof value === 'number' && value > 10_000 ? value * 1000 : value),
}

onEachStorage('decimal numbers', (engine) => {
  it('equal a model of bigints, and faults are found', async () => {
    const random = seededRandom('exact decimals')
    const model = drawn(random, 60)
    const place = await engine.fresh()
    const policy = { teller: [`ALLOW READ ON amounts.* WITH REDACTION = PLAIN_TEXT WHERE amounts.found > 0.9995`] }
    const vault = await createVault({ id: 'v1', schema, policy, storage: place.open(), keys: localKeys({ key: TEST_SECRET }) })
    const session = vault.as(OWNER)
    const inserted = await session.insert(
      'amounts',
      model.map((value, at) => {
        const amounts = Object.fromEntries(NAMES.map((name) => [name, spelled(value, at)]))
        const cents = value % 10n === 0n ? spelled(value, 2) : null
        return { fields: { ...amounts, cents, whole: value % UNIT === 0n ? value / UNIT : null } }
      }),
      { tokenization: true },
    )
    const ask: Ask = async (sql, values = []) => (await session.query(sql, values)).records.map(({ fields }) => fields)
    const bounds = [0n, 1n, -1n, MAX, -MAX, 9_007_199_254_740_993n, ...model.slice(0, 4)]
    await check(ask, model, bounds)
    for (const [fault, wrong] of Object.entries(FAULTS)) {
      const faulty: Ask = async (sql, values) =>
        (await ask(sql, values)).map((row) => Object.fromEntries(Object.entries(row).map(([key, value]) => [key, wrong(value)])))
      await expect(check(faulty, model, bounds), fault).rejects.toThrow()
    }

    // Equal numbers have one token, and are found by any spelling.
    const tokens = inserted.records.map((record) => record.tokens?.tokened)
    expect(new Set(tokens).size).toBe(new Set(model).size)
    for (const [at, value] of model.slice(0, 20).entries()) {
      const found = await session.get('amounts', { where: { found: spelled(value, at + 1) }, redaction: 'PLAIN_TEXT' })
      expect(found.records.map(({ fields }) => fields.tokened)).toEqual(
        model.filter((one) => one === value).map((one) => spelled(one, 0)),
      )
      const { records } = await session.tokenize([{ table: 'amounts', column: 'tokened', value: spelled(value, at + 2) }])
      expect(records[0]?.token).toBe(tokens[at])
    }
    const shown = await session.detokenize(tokens.map((token) => ({ token: token ?? '', redaction: 'PLAIN_TEXT' })))
    expect(shown.records.map(({ value, valueType }) => [value, valueType])).toEqual(
      model.map((value) => [spelled(value, 0), 'DECIMAL']),
    )

    // A condition of a policy lies between two numbers of the scale.
    const teller = vault.as({ actor: 'till', actorType: 'SERVICE_ACCOUNT', roles: ['teller'] })
    const [visible] = (await teller.query('SELECT COUNT(*) FROM amounts')).records
    expect(Object.values(visible?.fields ?? {})).toEqual([model.filter((value) => value >= UNIT).length])
    await vault.close()
  })

  it('are unique and upserted by value, whatever their spelling', async () => {
    const place = await engine.fresh()
    const vault = await createVault({ id: 'v1', schema, storage: place.open(), keys: localKeys({ key: TEST_SECRET }) })
    const session = vault.as(OWNER)
    const first = await session.insertOne('prices', { price: '1.5' })
    await expect(session.insertOne('prices', { price: 1.5 })).rejects.toMatchObject({ code: 'conflict' })
    const again = await session.insert('prices', [{ fields: { price: '1.500' } }], { upsert: 'price' })
    expect(again.records[0]?.id).toBe(first.id)
    await expect(session.insertOne('prices', { price: '1.5005' })).rejects.toMatchObject({ code: 'unprocessable' })
    expect((await session.getOne('prices', first.id)).fields).toMatchObject({ price: '1.500' })
    await vault.close()
  })
})

it('has a scale that is fixed, in a column and in its group, and allowed values as reads return them', async () => {
  const groups = (scale: number): SchemaDefinition => ({
    a: { one: column.decimal({ scale: 2, columnGroup: 'sums' }), two: column.decimal({ scale, columnGroup: 'sums' }) },
  })
  expect(defineSchema(groups(2)).tables).toEqual(groups(2))
  expect(() => defineSchema(groups(3))).toThrow('must have the same scale')
  expect(() => defineSchema({ a: { one: column.decimal({ scale: 19 }) } })).toThrow('must be at most 18')
  const rates = defineSchema({ a: { rate: column.decimal({ scale: 2, oneOf: ['7.00', '19.00'] }) } })
  expect(rates.tables.a.rate.oneOf).toEqual(['7.00', '19.00'])
  expect(() => defineSchema({ a: { rate: column.decimal({ scale: 2, oneOf: ['7'] }) } })).toThrow(
    'not written as reads return it',
  )
})
