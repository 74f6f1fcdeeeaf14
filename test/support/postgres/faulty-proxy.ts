/** A TCP proxy in front of a PostgreSQL server, which cuts, silences or resets connections where a test says so. */
import net from 'node:net'

/** What happens to some bytes, and to their connection from then on. */
export type Fate =
  /** They arrive. */
  | 'pass'
  /** They arrive, then both sides are closed. */
  | 'pass, then cut'
  /** They are lost, and so is everything after them in both directions. Neither side is closed. */
  | 'silence'
  /** They arrive, and everything after them in both directions is lost. */
  | 'pass, then silence'
  /** They are lost. The client's side is reset; the server's stays open, as behind a router that lost its state. */
  | 'reset'
  /** Other bytes arrive in one packet, then both sides are closed. */
  | { readonly insteadThenCut: Buffer }

/** Decides the fate of bytes as they come from one side. */
export type Rule = (bytes: Buffer) => Fate

export interface FaultyProxy {
  /** The address of the database behind the proxy. */
  readonly url: string
  /** Rules for bytes of the client and of the server, in place of the last ones. */
  intercept(rules: { readonly fromClient?: Rule; readonly fromServer?: Rule }): void
  /** Passes everything on new connections again. */
  mend(): void
  /** New connections go to another server. */
  redirect(url: string): void
  /** Closes the server's side of connections that were silenced or reset, as its keep-alive would in the end. */
  dropLost(): void
  /** Closes everything. */
  stop(): Promise<void>
}

const passAll: Rule = () => 'pass'

/** `url` is the address of a database: `database.url` of `freshDatabase`. */
export async function startFaultyProxy(url: string): Promise<FaultyProxy> {
  let target = new URL(url)
  let rules: { readonly fromClient?: Rule; readonly fromServer?: Rule } = {}
  const sockets = new Set<net.Socket>()
  const lost = new Set<net.Socket>()
  let isStopped = false

  const proxy = net.createServer((near) => {
    // Accepted while the proxy was stopping.
    if (isStopped) {
      near.destroy()
      return
    }
    const far = net.connect(Number(target.port), target.hostname)
    let isLost = false
    const cut = (): void => {
      near.destroy()
      if (!isLost) far.destroy()
    }
    const lose = (): void => {
      isLost = true
      lost.add(far)
    }

    function decide(fate: Fate, bytes: Buffer, to: net.Socket): void {
      if (typeof fate === 'object') {
        near.end(fate.insteadThenCut)
        far.destroy()
        return
      }
      if (fate.startsWith('pass')) to.write(bytes)
      if (fate.endsWith('silence')) lose()
      if (fate === 'reset') {
        lose()
        near.resetAndDestroy()
      }
      if (fate === 'pass, then cut') to.end(cut)
    }

    for (const [from, to, rule] of [
      [near, far, 'fromClient'],
      [far, near, 'fromServer'],
    ] as const) {
      sockets.add(from)
      from.on('data', (bytes) => {
        if (!isLost) decide((rules[rule] ?? passAll)(bytes), bytes, to)
      })
      from
        .on('error', cut)
        .on('close', cut)
        .on('close', () => sockets.delete(from))
    }
  })
  await new Promise<void>((ready) => proxy.listen(0, '127.0.0.1', ready))
  const address = proxy.address()
  const own = new URL(url)
  if (typeof address === 'object' && address !== null) own.port = String(address.port)
  return {
    url: own.href,
    intercept(given) {
      rules = given
    },
    mend() {
      rules = {}
    },
    redirect(other) {
      target = new URL(other)
    },
    dropLost() {
      for (const far of lost) far.destroy()
      lost.clear()
    },
    async stop() {
      isStopped = true
      const closed = new Promise<void>((done) => proxy.close(() => done()))
      for (const socket of sockets) socket.destroy()
      await closed
    },
  }
}

/** A rule for the next bytes that hold a word. Everything else passes. */
export function onceWith(word: string, fate: Fate): Rule {
  let isDone = false
  return (bytes) => {
    if (isDone || !bytes.includes(word)) return 'pass'
    isDone = true
    return fate
  }
}
