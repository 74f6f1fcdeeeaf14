/** A conformance case of a key provider: what it is called, and how it acts on the key service behind the provider. */
import type { KeyProvider } from '../../core/ports/crypto.ts'

/** How a key service answers, in place of its result. */
export type KeyServiceFault = 'throttled' | 'failing' | 'hanging' | 'reset' | 'slow'

/** Acts on the key service. A member that the service has no counterpart of is absent: the cases that need it are left out. */
export interface KeyServiceControl {
  /** Makes a new key or a new version the current one. The one before goes on unwrapping. */
  rotate?(): Promise<void>
  /** Disables the current key. */
  disable?(): Promise<void>
  /** Enables it again. */
  enable?(): Promise<void>
  /** Takes the right to use the keys from the provider, or deletes them. */
  withdraw?(): Promise<void>
  /**
   * Makes the next `calls` calls, by default all from now on, end so: `throttled` as the service refuses too many calls, `failing` with a
   * fault of its own, `hanging` without an answer, `reset` with the end of the connection, `slow` with the result after 100 ms. Undefined
   * ends it.
   */
  fail?(fault: KeyServiceFault | undefined, calls?: number): Promise<void>
  /** Number of calls that have reached the service. */
  calls?(): number
}

/** The provider under test. */
export interface KeysUnderTest extends KeyServiceControl {
  /** Milliseconds in which a call to a service that is away ends, with all its tries. Default 15,000. Give the provider short time limits. */
  readonly patienceMs?: number
  /** A provider of a new key. */
  open(): Promise<KeyProvider>
  /** One more provider of the key opened last, as another process has it. */
  reopen(): Promise<KeyProvider>
}

/** One conformance case: `run` rejects where the provider does not conform. It closes the providers it opened. */
export interface KeyProviderCase {
  /** The clause and its number, such as `W1`. */
  readonly id: string
  /** The id and the expected behavior, as a sentence. */
  readonly name: string
  /** What it needs of the control. A test runner skips the case where one of them is absent. */
  readonly needs: readonly (keyof KeyServiceControl)[]
  run(keys: KeysUnderTest): Promise<void>
}

/** What a case works with: a provider, more of them for the same key, and the parts of the control that it needs. */
export type KeyFixture<Need extends keyof KeyServiceControl> = Required<Pick<KeyServiceControl, Need>> & {
  readonly keys: KeyProvider
  readonly patienceMs: number
  another(): Promise<KeyProvider>
}

/** Makes one case. */
export function keyCase<const Need extends keyof KeyServiceControl = never>(
  name: string,
  needs: readonly Need[],
  body: (fixture: KeyFixture<Need>) => Promise<void>,
): KeyProviderCase {
  return {
    id: name.slice(0, name.indexOf(' ')),
    name,
    needs,
    async run(underTest) {
      const providers: KeyProvider[] = []
      const kept = async (opening: Promise<KeyProvider>) => {
        const provider = await opening
        providers.push(provider)
        return provider
      }
      const control: Partial<Record<keyof KeyServiceControl, unknown>> = {}
      for (const need of needs) {
        const member = underTest[need]
        if (member === undefined) throw new Error(`The case needs \`${need}\` of the control. Skip it where that is absent.`)
        control[need] = member.bind(underTest)
      }
      const { patienceMs = 15_000 } = underTest
      const opened = { keys: await kept(underTest.open()), patienceMs, another: () => kept(underTest.reopen()) }
      try {
        // Each need was found above.
        await body(Object.assign(control, opened) as KeyFixture<Need>)
      } finally {
        await underTest.fail?.(undefined)
        for (const provider of providers) await provider.close?.()
      }
    },
  }
}
