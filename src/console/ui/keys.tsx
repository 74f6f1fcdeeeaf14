/** Keys as they are written beside what they do. */

/** Draws keys that are separated by spaces. */
export function Keys({ of }: { readonly of: string }) {
  return (
    <>
      {of.split(' ').map((key) => (
        <kbd key={key}>{key}</kbd>
      ))}
    </>
  )
}
