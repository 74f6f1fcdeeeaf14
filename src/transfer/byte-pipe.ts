/** Turns work that writes bytes into a stream that is read: the work waits for its reader, and ends with it. */
import { VaultError } from '../core/errors.ts'

/** Bytes that the work has written, and how it goes on. */
interface Offer {
  readonly bytes: Uint8Array
  taken(): void
  refuse(error: Error): void
}

/**
 * Yields what the work writes. It begins with the first read, and is one write ahead. Its error is thrown to the reader. If the reader stops early, the next
 * write of the work throws, and the reader waits until the work has ended.
 */
export async function* pipeBytes(
  work: (write: (bytes: Uint8Array) => Promise<void>) => Promise<void>,
): AsyncGenerator<Uint8Array, void, void> {
  let offer: Offer | undefined
  let isStopped = false
  let isOver = false
  let wake = (): void => {}

  const write = (bytes: Uint8Array): Promise<void> =>
    new Promise((taken, refuse) => {
      if (isStopped) return refuse(stopped())
      offer = { bytes, taken, refuse }
      wake()
    })
  const working = work(write).finally(() => {
    isOver = true
    wake()
  })
  working.catch(() => {})
  try {
    for (;;) {
      while (offer === undefined && !isOver)
        await new Promise<void>((resolve) => {
          wake = resolve
        })
      if (offer === undefined) break
      const { bytes, taken } = offer
      offer = undefined
      taken()
      yield bytes
    }
    await working
  } finally {
    isStopped = true
    ;(offer as Offer | undefined)?.refuse(stopped())
    await working.catch(() => {})
  }
}

function stopped(): VaultError {
  return new VaultError('cancelled', 'The backup was not read to its end.')
}
