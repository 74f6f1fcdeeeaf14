/** The software bill of materials of the package: what is built into it. Source: CycloneDX 1.6, JSON. */
import { readFileSync } from 'node:fs'
import * as z from 'zod'
import { BUNDLED_PACKAGES } from './bundled-packages.ts'

/** Where the build puts it. */
export const SBOM = 'sbom.cdx.json'

const manifestShape = z.object({ name: z.string(), version: z.string(), license: z.string() })
/** The members of an installed package in the lock file that are read. `integrity` is `sha512-` and base64. */
const lockedShape = manifestShape.omit({ name: true }).extend({
  integrity: z.string(),
  dependencies: z.record(z.string(), z.string()).default({}),
})
const lockShape = z.object({ packages: z.record(z.string(), z.unknown()) })

type Manifest = z.infer<typeof manifestShape>

/** A package that is built in, at the version of the lock file. */
interface BuiltIn extends Manifest {
  readonly integrity: string
  /** Those of the packages it depends on that are built in, too. */
  readonly dependencies: readonly BuiltIn[]
}

/** Returns the text of the document. It has neither a time nor a random id, so that equal sources give equal bytes. */
export function sbomText(): string {
  const manifest = manifestShape.parse(readJson('package.json'))
  const { packages } = lockShape.parse(readJson('package-lock.json'))
  const builtIn = BUNDLED_PACKAGES.map((name) => lockedPackage(name, packages))
  const edges = [{ ...manifest, dependencies: builtIn }, ...builtIn]
  const document = {
    $schema: 'http://cyclonedx.org/schema/bom-1.6.schema.json',
    bomFormat: 'CycloneDX',
    specVersion: '1.6',
    version: 1,
    metadata: { component: describe(manifest) },
    components: builtIn.map((one) => ({ ...describe(one), scope: 'required', hashes: [hashOf(one)] })),
    dependencies: edges.map((one) => ({ ref: purlOf(one), dependsOn: one.dependencies.map(purlOf) })),
  }
  return `${JSON.stringify(document, null, 2)}\n`
}

/** The build takes packages from the top of node_modules only. */
function lockedPackage(name: string, packages: Readonly<Record<string, unknown>>): BuiltIn {
  const { dependencies, ...locked } = lockedShape.parse(packages[`node_modules/${name}`])
  const below = BUNDLED_PACKAGES.filter((other) => other in dependencies)
  return { name, ...locked, dependencies: below.map((other) => lockedPackage(other, packages)) }
}

/** One license has an id; several are an expression. */
function describe({ name, version, license }: Manifest): object {
  const purl = purlOf({ name, version })
  const licenses = [/^[\w.+-]+$/.test(license) ? { license: { id: license } } : { expression: license }]
  return { type: 'library', 'bom-ref': purl, name, version, licenses, purl }
}

function hashOf({ name, integrity }: BuiltIn): object {
  const [algorithm, digest = ''] = integrity.split('-')
  if (algorithm !== 'sha512') throw new Error(`${name} has no SHA-512 in package-lock.json.`)
  return { alg: 'SHA-512', content: Buffer.from(digest, 'base64').toString('hex') }
}

/** Source: the package URL specification, type npm. The at sign of a scope is encoded. */
function purlOf({ name, version }: Pick<Manifest, 'name' | 'version'>): string {
  return `pkg:npm/${name.replace('@', '%40')}@${version}`
}

function readJson(name: string): unknown {
  return JSON.parse(readFileSync(new URL(`../${name}`, import.meta.url), 'utf8'))
}
