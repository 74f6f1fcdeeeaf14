/** The law of aborted requests, and its negative controls: a server that keeps something open. */
import { closeSync, openSync } from 'node:fs'
import { expect, it } from 'vitest'
import { toNodeHandler } from '../../src/http/index.ts'
import { abortRequests, httpAborts } from '../laws/http-aborts.ts'
import { type ServeOptions, serveVault } from '../support/http/serve-vault.ts'
import { itHolds } from '../support/laws/it-holds.ts'
import { seededRandom } from '../support/random/seeded-random.ts'
import { memoryEngine } from '../support/storages/engines.ts'
import { OWNER } from '../support/vaults/test-vault.ts'

itHolds(httpAborts)

/** Aborts requests to a server that is broken on purpose. */
async function abortOn(options: ServeOptions): Promise<number> {
  const served = await serveVault({ storage: memoryEngine().fresh().open(), ...options })
  try {
    return await abortRequests(served, seededRandom('aborts'), 1000)
  } finally {
    await served.close()
  }
}

it('a descriptor that stays open is found out', async () => {
  const opened: number[] = []
  const listener: ServeOptions['listener'] = (handler) => (request, response) => {
    opened.push(openSync('/dev/null', 'r'))
    return toNodeHandler(handler)(request, response)
  }
  await expect(abortOn({ listener })).rejects.toThrow('descriptors stayed open')
  opened.forEach(closeSync)
})

it('a part of an insert is found out', async () => {
  const served = await serveVault({ storage: memoryEngine().fresh().open() })
  await served.vault.as(OWNER).insert('people', [{ fields: { name: 'Ann' } }])
  await expect(abortRequests(served, seededRandom('aborts'))).rejects.toThrow('A part of an insert')
  await served.close()
})
