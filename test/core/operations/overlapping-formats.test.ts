/** Columns whose token formats overlap: a text that is a token of two values is rejected as ambiguous. */
import { expect, it } from 'vitest'
import { keyRingFactory } from '../../../src/adapters/keys/key-ring-factory.ts'
import { localKeys } from '../../../src/adapters/keys/local-keys.ts'
import { memoryStorage } from '../../../src/adapters/memory/memory-storage.ts'
import type { KeyRing, KeyRingFactory, RootKey } from '../../../src/core/ports/crypto.ts'
import { openVault } from '../../../src/core/vault/open-vault.ts'
import { column, defineSchema } from '../../../src/index.ts'
import { SYSTEM_PORTS } from '../../support/vaults/system-ports.ts'
import { OWNER, TEST_SECRET } from '../../support/vaults/test-vault.ts'

const digits = column.string({ token: { kind: 'deterministicFormatPreserving', format: 'digits' }, redaction: 'PLAIN_TEXT' })
const schema = defineSchema({ accounts: { number: digits }, members: { number: digits } })

/** The same keys in every run. */
const fixed = (roots: readonly RootKey[]) => roots.map(({ version }) => ({ version, key: new Uint8Array(32).fill(7) }))
const fixedRing = (ring: KeyRing): KeyRing => ({
  ...ring,
  withRoots: (versions, more, use) => fixedRing(ring.withRoots(versions, fixed(more), use)),
})
const fixedKeys: KeyRingFactory = {
  ...keyRingFactory,
  createRing: (id, roots, use) => fixedRing(keyRingFactory.createRing(id, fixed(roots), use)),
}

/** Values in each column: enough for a few collisions among a million tokens of six digits. */
const COUNT = 3000

it('each of 6,000 six-digit tokens resolves to its own value, or is rejected as ambiguous', async () => {
  const keys = localKeys({ key: TEST_SECRET })
  const options = { id: 'v1', schema, storage: memoryStorage(), keys, ...SYSTEM_PORTS }
  const vault = await openVault({ ...options, keyRingFactory: fixedKeys, limits: { maxRecords: COUNT } })
  const session = vault.as(OWNER)
  let refused = 0
  for (const table of ['accounts', 'members'] as const) {
    const records = Array.from({ length: COUNT }, (_, i) => ({ fields: { number: String(100_000 + i * 7) } }))
    await session.insert(table, records)
  }
  for (const table of ['accounts', 'members'] as const) {
    const values = Array.from({ length: COUNT }, (_, i) => String(100_000 + i * 7))
    const { records: tokens } = await session.tokenize(values.map((value) => ({ value, table, column: 'number' as const })))
    const { records } = await session.detokenize(tokens, { continueOnError: true })
    for (const [index, record] of records.entries()) {
      if (record.error === undefined) expect(record.value).toBe(values[index])
      else {
        refused++
        expect(record).toMatchObject({ valueType: 'NONE', value: '', error: expect.stringContaining('several columns') })
      }
    }
  }
  // The keys are fixed, so every run has the same few collisions. Without any the test would prove nothing.
  expect(refused).toBeGreaterThan(0)
  expect(refused).toBeLessThan(COUNT / 50)
})
