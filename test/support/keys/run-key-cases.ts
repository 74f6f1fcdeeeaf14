/** Runs the conformance suite of key providers on one provider, one test per case, and a vault on the provider. */
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { describe, expect, it } from 'vitest'
import { sqliteStorage } from '../../../src/adapters/sqlite/index.ts'
import { type KeysUnderTest, keyProviderCases } from '../../../src/conformance/keys/index.ts'
import type { KeyProvider } from '../../../src/core/ports/crypto.ts'
import { column, createVault, defineSchema } from '../../../src/index.ts'
import { OWNER } from '../vaults/test-vault.ts'

/** A provider under test, and how to clean up after its case. */
export interface DisposableKeys extends KeysUnderTest {
  discard?(): Promise<void>
  /** Disables the keys before the current one. */
  disableOlder?(): Promise<void>
}

/** Time limits of a provider under test: a service that hangs is given up early, and an answer on a busy machine is not. */
export const SHORT_LIMITS = { callTimeoutMs: 1500, openTimeoutMs: 6000 }

/** Calls `setup` for every case. A case is skipped only where the control lacks what it needs, which its result says. */
export function runKeyCases(name: string, setup: () => DisposableKeys | Promise<DisposableKeys>): void {
  describe(`the ${name} key provider conforms`, () => {
    for (const { name: sentence, needs, run } of keyProviderCases) {
      it(sentence, async ({ skip }) => {
        await using(setup, async (underTest) => {
          const lacks = needs.filter((need) => underTest[need] === undefined)
          skip(lacks.length > 0, `the control has no ${lacks.join(', ')}`)
          await run(underTest)
        })
      })
    }
  })
}

/** Founds a vault on the provider, opens it again, goes on through an outage of the service, and changes to a new key of it. */
export function runVaultOnKeys(name: string, setup: () => DisposableKeys | Promise<DisposableKeys>): void {
  it(`a vault on ${name} is opened again, goes on while the service is away, and changes to a new key`, async () => {
    await using(setup, async (underTest) => {
      const directory = mkdtempSync(join(tmpdir(), 'keys-'))
      try {
        await live(underTest, join(directory, 'vault.db'))
      } finally {
        rmSync(directory, { recursive: true })
      }
    })
  })
}

async function using(
  setup: () => DisposableKeys | Promise<DisposableKeys>,
  work: (underTest: DisposableKeys) => Promise<void>,
): Promise<void> {
  const underTest = await setup()
  try {
    await work(underTest)
  } finally {
    await underTest.discard?.()
  }
}

const schema = defineSchema({ people: { name: column.string({ required: true }) } })

async function live(underTest: DisposableKeys, filename: string): Promise<void> {
  const open = (keys: KeyProvider) => createVault({ id: 'v1', schema, storage: sqliteStorage({ filename }), keys })
  const founded = await open(await underTest.open())
  const { id } = await founded.as(OWNER).insertOne('people', { name: 'Ann' })
  await founded.close()

  const vault = await open(await underTest.reopen())
  const session = vault.as(OWNER)
  const nameOf = async (record: string) => (await session.getOne('people', record, { redaction: 'PLAIN_TEXT' })).fields.name
  expect(await nameOf(id)).toBe('Ann')
  await underTest.fail?.('failing')
  const { id: second } = await session.insertOne('people', { name: 'Bea' })
  expect(await nameOf(second)).toBe('Bea')
  if (underTest.fail !== undefined)
    await expect(open(await underTest.reopen())).rejects.toMatchObject({
      code: 'unavailable',
      message: expect.stringContaining('could not unwrap a root key'),
    })
  await underTest.fail?.(undefined)

  await vault.rotateKeys()
  if (underTest.rotate !== undefined) {
    await underTest.rotate()
    const { rewrapped, keyIds } = await vault.rewrapKeys()
    expect([rewrapped > 0, keyIds.length]).toEqual([true, 1])
    expect((await vault.rewrapKeys()).rewrapped).toBe(0)
    await underTest.disableOlder?.()
  }
  const again = await open(await underTest.reopen())
  expect((await again.as(OWNER).get('people')).records).toHaveLength(2)
  await again.close()
  await vault.close()
}
