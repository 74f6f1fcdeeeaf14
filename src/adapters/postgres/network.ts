/** What a storage knows of its network: once that has fallen silent, no call waits for it at length before it has answered again. */

/** How long a call waits for a connection that answers, on a network that was silent last. */
const GRACE_MS = 3_000
/** How long no call asks again after one has waited in vain: the steps of one call wait once together. */
const ASKED_LATELY_MS = 1_000

/** A connection in use. */
export interface UsedConnection {
  /** Gives it back, closed if `isBroken`: what waits for an answer on it fails. Again does nothing. */
  release(isBroken: boolean): void
}

/** A call that waits for a connection. */
interface Wait {
  over(): void
  shorten(): void
}

/** The network of one storage handle. Its connections say what happens to them. */
export interface Network {
  /** Longest wait for a connection from now on, in milliseconds; 0 if another call has just waited in vain. */
  patienceMs(connectMs: number): number
  /** Calls back after a time, or earlier if the network falls silent meanwhile. Returns a function that prevents the call. */
  wait(ms: number, expire: () => void): () => void
  /** True after silence: a connection must answer something before it is used. */
  isSilent(): boolean
  /** Notes an answer of the server. */
  heard(): void
  /** Notes a statement without an answer, or a connection that was not made in time. */
  fellSilent(): void
  /** Notes that a call has waited in vain for a connection. */
  missed(): void
  readonly used: Set<UsedConnection>
  /** Ends every wait, and closes the connections in use. */
  end(): void
}

/** `dropIdle` closes connections that no call uses: they are likely to be as silent, and new ones are not. */
export function createNetwork(dropIdle: () => void): Network {
  const waits = new Set<Wait>()
  const used = new Set<UsedConnection>()
  let isSilent = false
  let missedAt = Number.NEGATIVE_INFINITY

  function fellSilent(): void {
    if (isSilent) return
    isSilent = true
    dropIdle()
    for (const { shorten } of waits) shorten()
  }

  return {
    used,
    isSilent: () => isSilent,
    fellSilent,
    heard() {
      isSilent = false
    },
    missed() {
      missedAt = performance.now()
      // Where connections are in use, all of them can be busy: theirs is the silence to notice.
      if (used.size === 0) fellSilent()
    },
    patienceMs(connectMs) {
      if (!isSilent) return connectMs
      return performance.now() - missedAt < ASKED_LATELY_MS ? 0 : Math.min(connectMs, GRACE_MS)
    },
    wait(ms, expire) {
      const end = performance.now() + ms
      const wait: Wait = {
        over() {
          stop()
          expire()
        },
        shorten() {
          clearTimeout(timer)
          timer = setTimeout(wait.over, Math.max(0, Math.min(GRACE_MS, end - performance.now())))
        },
      }
      let timer = setTimeout(wait.over, ms)
      waits.add(wait)
      function stop(): void {
        clearTimeout(timer)
        waits.delete(wait)
      }
      return stop
    },
    end() {
      for (const { over } of waits) over()
      for (const connection of used) connection.release(true)
    },
  }
}
