/** Elements as text: content is escaped unless it is markup already. */

/** Text that is markup. */
export interface Markup {
  readonly markup: string;
}

export type Content = string | number | Markup | undefined | readonly Content[];

const entities: Readonly<Record<string, string>> = {
  '&': '&amp;',
  '<': '&lt;',
  '>': '&gt;',
  '"': '&quot;',
  "'": '&#39;',
};

export const escaped = (text: string): string => text.replace(/[&<>"']/g, (character) => entities[character]);

function textOf(content: Content): string {
  if (content === undefined) return '';
  if (typeof content === 'string') return escaped(content);
  if (typeof content === 'number') return String(content);
  if ('markup' in content) return content.markup;
  return content.map(textOf).join('');
}

/** Attributes that are undefined are left out. */
export type Attributes = Readonly<Record<string, string | number | undefined>>;

export function element(name: string, attributes: Attributes, ...content: Content[]): Markup {
  const list = Object.entries(attributes).flatMap(([key, value]) =>
    value === undefined ? [] : ` ${key}="${escaped(String(value))}"`,
  );
  return { markup: `<${name}${list.join('')}>${textOf(content)}</${name}>` };
}
