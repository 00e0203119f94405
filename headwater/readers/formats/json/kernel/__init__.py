"""The compiled code of JSON: `decode` reads values, `elements` splits documents, `shapes` infers schemas.

* `frames`: frames: the structs, lists and maps that are open in a row, and the fields of a struct by their
  names;
* `from_text`: the text of a string as a value of another type: a number, a date, a time, bytes;
* `objects`: an object of JSON as a row of the columns;
* `relaxed`: JSON that takes more than JSON, or less than the format `json`, as text that means the same to
  its kernel;
* `rescue`: the column of rescued fields: the row's JSON, but only fields that the schema lacks or could not
  take;
* `scalars`: values without children: a token of JSON as the value of a column, by the rules of Spark's
  `from_json`;
* `scanner`: the tokens of JSON, as Jackson reads them with Spark's settings: single quotes and NaN are taken
  too;
* `shape_tree`: a tree of shapes, each with its name and the kinds of its values; names are found by a hash
  table;
* `strings`: values as the strings of a column, and the text of strings in JSON;
* `text`: strings of JSON as UTF-8, and values as the text that Spark gives a field of strings.
"""
