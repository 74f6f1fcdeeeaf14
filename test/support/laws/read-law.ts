/** Reads one law from its file, without the other laws and all that they import. */
import type { Law } from '../../laws/law.ts'

/** The law of this name, which the file of this name exports. Throws if there is none. */
export async function readLaw(name: string): Promise<Law> {
  const exported: Readonly<Record<string, unknown>> = await import(`../../laws/${name}.ts`)
  const law = Object.values(exported).find((one): one is Law => isLaw(one) && one.name === name)
  if (law === undefined) throw new Error(`test/laws/${name}.ts exports no law of this name.`)
  return law
}

function isLaw(value: unknown): value is Law {
  return typeof value === 'object' && value !== null && 'name' in value && 'open' in value
}
