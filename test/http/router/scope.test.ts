/** Vaults stay in use until a response is sent, whether its body is read whole, in part or not at all. */
import { expect, it } from 'vitest'
import { createRefusalPace } from '../../../src/http/router/refusal-pace.ts'
import { createScope } from '../../../src/http/router/scope.ts'
import type { Vault } from '../../../src/index.ts'

/** Returns the chunks of a response in whose scope one vault is in use, and the number of vaults in use. */
async function opened(chunks: AsyncIterable<Uint8Array>) {
  let inUse = 0
  const vaults = {
    vaultsOfAccount: async () => [],
    async lease() {
      inUse++
      return { vault: {} as Vault, release: () => void inUse-- }
    },
    close: async () => {},
  }
  const scope = createScope({ vaults, pace: createRefusalPace() }, { requestID: 'request' })
  await scope.open('v1')
  const { body } = scope.released({ status: 200, headers: {}, body: chunks })
  if (typeof body !== 'object' || body instanceof Uint8Array) throw new Error('The body must be an iterable.')
  return { iterator: body[Symbol.asyncIterator](), inUse: () => inUse }
}

async function* twoChunks(): AsyncGenerator<Uint8Array> {
  yield Uint8Array.of(1)
  yield Uint8Array.of(2)
}

it('releases a vault after the last chunk', async () => {
  const { iterator, inUse } = await opened(twoChunks())
  await iterator.next()
  await iterator.next()
  expect(inUse()).toBe(1)
  expect((await iterator.next()).done).toBe(true)
  expect(inUse()).toBe(0)
})

it('releases a vault when the client goes away, also before the first chunk', async () => {
  for (const read of [0, 1]) {
    const { iterator, inUse } = await opened(twoChunks())
    for (let chunk = 0; chunk < read; chunk++) await iterator.next()
    expect(inUse()).toBe(1)
    await iterator.return?.()
    expect(inUse()).toBe(0)
  }
})

it('releases a vault when the body fails', async () => {
  const { iterator, inUse } = await opened(
    // biome-ignore lint/correctness/useYield: it fails before the first chunk.
    (async function* (): AsyncGenerator<Uint8Array> {
      throw new Error('broken')
    })(),
  )
  await expect(iterator.next()).rejects.toThrow('broken')
  expect(inUse()).toBe(0)
})
