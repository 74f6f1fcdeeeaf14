/** The law of aborted requests, and its negative controls: a server that keeps something open. */
import { closeSync, openSync } from 'node:fs'
import { expect, it } from 'vitest'
import { toNodeHandler } from '../../src/http/index.ts'
import { type AbortOptions, abortRequests, httpAborts } from '../laws/http-aborts.ts'
import { onFreshFiles } from '../support/files/file-places.ts'
import { itHolds } from '../support/laws/it-holds.ts'
import { seededRandom } from '../support/random/seeded-random.ts'
import { memoryPlaces } from '../support/storages/places.ts'
import { OWNER } from '../support/vaults/test-vault.ts'

itHolds(httpAborts)

/** Aborts requests to a server that is broken on purpose. */
function abortOn(options: AbortOptions): Promise<number> {
  const place = { engine: memoryPlaces(), store: 'memory' } as const
  return onFreshFiles(place, (files) => abortRequests(files, seededRandom('aborts'), { patienceMs: 1000, ...options }))
}

it('a descriptor that stays open is found out', async () => {
  const opened: number[] = []
  const listener: AbortOptions['listener'] = (handler) => (request, response) => {
    opened.push(openSync('/dev/null', 'r'))
    return toNodeHandler(handler)(request, response)
  }
  await expect(abortOn({ listener })).rejects.toThrow('descriptors stayed open')
  opened.forEach(closeSync)
})

it('a part of an insert is found out', async () => {
  const before: AbortOptions['before'] = (vault) => vault.as(OWNER).insert('papers', [{ fields: { title: 'One' } }])
  await expect(abortOn({ before })).rejects.toThrow('a part of an insert')
})

it('an upload that goes on is found out', async () => {
  let after = (): void => {}
  const ended = new Promise<void>((resolve) => {
    after = resolve
  })
  async function* endless(): AsyncGenerator<Uint8Array> {
    yield Uint8Array.of(1)
    await ended
  }
  const before = async (vault: Parameters<NonNullable<AbortOptions['before']>>[0]): Promise<void> => {
    vault
      .as(OWNER)
      .uploadFile({ table: 'letters', column: 'sheet', file: endless() })
      .catch(() => {})
  }
  await expect(abortOn({ before, after: () => after() })).rejects.toThrow('a part of an upload stayed')
})
